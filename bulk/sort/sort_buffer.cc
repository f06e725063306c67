#include "bulk/sort/sort_buffer.h"

#include <algorithm>
#include <cstring>

#include "btree/node/key_bytes.h"

namespace palimpsest::bulk {

bool SortBuffer::add(ByteView key, ByteView value) noexcept {
  const std::size_t bytes = sizeof(RecordLengths) + key.size() + value.size();
  const std::size_t room = memory_.size() - records_ * sizeof(Entry) - used_;
  if (room < sizeof(Entry) || room - sizeof(Entry) < bytes) {
    return false;
  }
  const RecordLengths lengths{.key_bytes = static_cast<std::uint32_t>(key.size()),
                              .value_bytes = static_cast<std::uint32_t>(value.size())};
  std::byte* const place = memory_.data() + used_;
  std::memcpy(place, &lengths, sizeof lengths);
  std::memcpy(place + sizeof lengths, key.data(), key.size());
  if (!value.empty()) {
    std::memcpy(place + sizeof lengths + key.size(), value.data(), value.size());
  }
  prefix_bytes_ = records_ == 0
                      ? key.size()
                      : btree::common_prefix_length(at(0).key.substr(0, prefix_bytes_), key);
  ++records_;
  *entries() = {.head = 0, .offset = used_};
  used_ += bytes;
  return true;
}

void SortBuffer::sort() noexcept {
  Entry* const first = entries();
  for (std::size_t number = records_; number > 0; --number) {  // in the order of the records
    Entry& entry = first[number - 1];
    entry.head = head_of(at(entry.offset).key.substr(prefix_bytes_));
  }
  std::sort(first, first + records_, [this](const Entry& left, const Entry& right) {
    if (left.head != right.head) {
      return left.head < right.head;
    }
    const int order = at(left.offset).key.compare(at(right.offset).key);
    return order != 0 ? order < 0 : left.offset < right.offset;
  });
}

SortBuffer::Record SortBuffer::at(std::uint64_t offset) const noexcept {
  RecordLengths lengths;
  const std::byte* const begin = memory_.data() + offset;
  std::memcpy(&lengths, begin, sizeof lengths);
  const std::byte* const key = begin + sizeof lengths;
  return {.key = as_view(key, lengths.key_bytes),
          .value = as_view(key + lengths.key_bytes, lengths.value_bytes)};
}

}  // namespace palimpsest::bulk
