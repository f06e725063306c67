// Fills in the payload of a tree's log record, front to back, for encoding a change and for writing
// its inverse.
//
// Failure: none; nothing allocates. Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/varint.h"
#include "btree/log/tree_record_format.h"

namespace palimpsest::btree {

/// Writes one whole payload.
class TreeRecordWriter {
 public:
  explicit TreeRecordWriter(MutableBytes into) noexcept
      : at_(into.data()), end_(at_ + into.size()) {}
  TreeRecordWriter(const TreeRecordWriter&) = delete;
  TreeRecordWriter& operator=(const TreeRecordWriter&) = delete;
  ~TreeRecordWriter() {
    PALIMPSEST_DEBUG_CHECK(at_ == end_, "a payload has the length that was announced");
  }

  /// A struct of the format.
  template <class T>
  void put(const T& value) noexcept {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void put(ByteView bytes) noexcept {
    if (!bytes.empty()) {
      std::memcpy(at_, bytes.data(), bytes.size());
      at_ += bytes.size();
    }
  }
  void put_number(std::uint64_t number) noexcept { at_ = put_varint(at_, number); }
  void put_head(const RecordChangeHead& head) noexcept;
  /// Skips bytes that the caller fills in.
  [[nodiscard]] std::byte* skip(std::size_t bytes) noexcept {
    at_ += bytes;
    return at_ - bytes;
  }

 private:
  std::byte* at_;
  std::byte* end_;
};

[[nodiscard]] inline std::size_t record_head_bytes(const RecordChangeHead& head) noexcept {
  return 1 + varint_bytes(head.slot) + varint_bytes(raw(head.tree_id)) +
         varint_bytes(raw(head.page_id)) + varint_bytes(head.key_len) + (head.has_flags() ? 2 : 0);
}

inline void TreeRecordWriter::put_head(const RecordChangeHead& head) noexcept {
  const bool flags = head.has_flags();
  put(kind_byte(head.kind, (head.compensation ? kCompensation : 0) | (flags ? kHasFlags : 0)));
  put_number(head.slot);
  put_number(raw(head.tree_id));
  put_number(raw(head.page_id));
  put_number(head.key_len);
  if (flags) {
    put(head.flags_before);
    put(head.flags_after);
  }
}

}  // namespace palimpsest::btree
