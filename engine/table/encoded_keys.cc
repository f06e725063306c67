#include "engine/table/encoded_keys.h"

#include <fmt/format.h>

#include <string>

#include "palimpsest/error.h"

#include "btree/node/key_bytes.h"

namespace palimpsest::engine {

KeySpace::KeySpace(const TableFormat& format, std::size_t index,
                   const btree::BTree& entries) noexcept
    : format_(&format),
      codec_(&format.indexes()[index].codec.columns()),
      index_(&format.stored().indexes[index].schema.name),
      bytes_max_(btree::key_bytes_max(entries.descent().page_size())) {}

void KeySpace::refuse(const std::string& why) const {
  const std::string& table = format_->schema().name;
  throw Error(ErrorCode::invalid_argument,
              index_ == nullptr
                  ? fmt::format("table \"{}\": {}", table, why)
                  : fmt::format("table \"{}\", index \"{}\": {}", table, *index_, why));
}

void KeySpace::require_length(std::size_t bytes) const {
  if (bytes == 0 || bytes > bytes_max_) [[unlikely]] {
    refuse(fmt::format("a key of {} bytes: keys must have 1 to {}", bytes, bytes_max_));
  }
}

void KeySpace::require_encodable(const Key& key) const {
  if (key.is_encoded()) {
    if (index_ != nullptr) [[unlikely]] {
      refuse("keys of an index must be given as values, not encoded");
    }
  } else if (key.values().size() > codec_->column_count()) [[unlikely]] {
    refuse(fmt::format("a key of {} values: it has {} columns", key.values().size(),
                       codec_->column_count()));
  }
}

bool KeySpace::is_whole(ByteView encoded) const noexcept {
  return takes_any_bytes_ || codec_->bytes_of(encoded) == encoded.size();
}

void KeySpace::require_whole(ByteView encoded) const {
  require_length(encoded.size());
  if (!is_whole(encoded)) [[unlikely]] {
    refuse(fmt::format("{} bytes that are not a key of its {} columns", encoded.size(),
                       codec_->column_count()));
  }
}

ByteView KeySpace::whole(const Key& key, KeyMemory& into) const {
  require_encodable(key);
  if (key.is_encoded()) {
    require_whole(key.bytes());
    return key.bytes();
  }
  if (key.values().size() != codec_->column_count()) [[unlikely]] {
    refuse(fmt::format("a key of {} values: it has {} columns", key.values().size(),
                       codec_->column_count()));
  }
  const ByteView encoded = codec_->encode(key.values(), into.room(bytes_max_).first(bytes_max_));
  require_length(encoded.size());
  return encoded;
}

ByteView KeySpace::whole_of_row(std::span<const Value> values, KeyMemory& into) const {
  const ByteView encoded = codec_->encode_row(values, into.room(bytes_max_).first(bytes_max_));
  require_length(encoded.size());
  return encoded;
}

ByteView KeySpace::first_columns(const Key& key, KeyMemory& into) const {
  require_encodable(key);
  if (!key.is_encoded()) {
    return codec_->encode(key.values(), into.room(bytes_max_).first(bytes_max_));
  }
  const ByteView bytes = key.bytes();
  const auto whole = codec_->bytes_of(bytes);
  if (bytes.size() > bytes_max_ || (whole && *whole != bytes.size())) [[unlikely]] {
    refuse(fmt::format("a bound of {} bytes that no key begins with: keys have at most {}",
                       bytes.size(), bytes_max_));
  }
  return bytes;
}

ByteView KeySpace::beginning(const Key& key, KeyMemory& into) const {
  require_encodable(key);
  if (!key.is_encoded()) {
    return codec_->encode_beginning(key.values(), into.room(bytes_max_).first(bytes_max_));
  }
  if (key.bytes().size() > bytes_max_) [[unlikely]] {
    refuse(fmt::format("{} bytes that no key begins with: keys have at most {}", key.bytes().size(),
                       bytes_max_));
  }
  return key.bytes();
}

std::optional<ByteView> KeySpace::above_whole(ByteView key, KeyMemory& into) const noexcept {
  const std::span<char> room = into.room(bytes_max_);
  key.copy(room.data(), key.size());
  if (key.size() < bytes_max_) {
    room[key.size()] = '\0';
    return ByteView(room.data(), key.size() + 1);
  }
  return successor_of_prefix(room.first(key.size()));  // no key is longer
}

std::optional<ByteView> KeySpace::above(const Key& key, KeyMemory& into) const {
  const ByteView first = first_columns(key, into);
  const std::span<char> room = into.room(bytes_max_);
  if (key.is_encoded()) {
    if (is_whole(first)) {
      return above_whole(first, into);
    }
    first.copy(room.data(), first.size());
    return successor_of_prefix(room.first(first.size()));
  }
  const std::size_t size = first.size();
  const auto next = codec_->encode_above(key.values(), room);
  // An open text is followed by itself and a zero, unless it has the maximum length of keys.
  return next && next->size() > bytes_max_ ? successor_of_prefix(room.first(size)) : next;
}

void EncodedRange::begin_with(const KeySpace& space, const Key& key) {
  keys_.lower = space.beginning(key, lower_);
  const std::span<char> room = upper_.room(space.bytes_max());
  keys_.lower.copy(room.data(), keys_.lower.size());
  keys_.upper = successor_of_prefix(room.first(keys_.lower.size()));
}

EncodedRange::EncodedRange(const KeySpace& space, const Range& range) {
  using Bound = Range::Bound;
  if (range.is_beginning()) {
    begin_with(space, *range.lower());
    return;
  }
  const btree::KeyRange none{.lower = {}, .upper = ByteView()};
  if (range.lower()) {
    if (range.lower_bound() == Bound::inclusive) {
      keys_.lower = space.first_columns(*range.lower(), lower_);
    } else if (const auto above = space.above(*range.lower(), lower_)) {
      keys_.lower = *above;
    } else {
      keys_ = none;
      return;
    }
  }
  if (range.upper()) {
    keys_.upper = range.upper_bound() == Bound::inclusive
                      ? space.above(*range.upper(), upper_)
                      : std::optional(space.first_columns(*range.upper(), upper_));
  }
}

}  // namespace palimpsest::engine
