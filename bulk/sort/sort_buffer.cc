#include "bulk/sort/sort_buffer.h"

#include <algorithm>
#include <cstring>

namespace palimpsest::bulk {

bool SortBuffer::add(ByteView key, ByteView value) noexcept {
  const std::size_t bytes = sizeof(RecordLengths) + key.size() + value.size();
  const std::size_t room = memory_.size() - records_ * sizeof(Entry) - used_;
  if (room < sizeof(Entry) || room - sizeof(Entry) < bytes) {
    return false;
  }
  const RecordLengths lengths{.key_bytes = static_cast<std::uint32_t>(key.size()),
                              .value_bytes = static_cast<std::uint32_t>(value.size())};
  std::byte* const at = memory_.data() + used_;
  std::memcpy(at, &lengths, sizeof lengths);
  std::memcpy(at + sizeof lengths, key.data(), key.size());
  if (!value.empty()) {
    std::memcpy(at + sizeof lengths + key.size(), value.data(), value.size());
  }
  ++records_;
  *entries() = {.head = head_of(key), .offset = used_};
  used_ += bytes;
  return true;
}

void SortBuffer::sort() noexcept {
  Entry* const first = entries();
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
