// A source of records in ascending order: the input of a merge.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace palimpsest::bulk {

/// A key's first eight bytes as a number, padded with zeros: if two heads differ, the keys are in
/// the order of their heads; otherwise the keys must be compared.
[[nodiscard]] inline std::uint64_t head_of(ByteView key) noexcept {
  std::uint64_t head = 0;
  std::memcpy(&head, key.data(), std::min(key.size(), sizeof head));
  return __builtin_bswap64(head);
}

class RecordSource {
 public:
  RecordSource() = default;
  RecordSource(const RecordSource&) = delete;
  RecordSource& operator=(const RecordSource&) = delete;
  virtual ~RecordSource() = default;

  /// Moves to the first record, then to the next; false at the end.
  [[nodiscard]] virtual bool next() = 0;

  // The current record, valid until next():

  [[nodiscard]] std::uint64_t head() const noexcept { return head_; }
  [[nodiscard]] ByteView key() const noexcept { return key_; }
  [[nodiscard]] ByteView value() const noexcept { return value_; }

 protected:
  void show(ByteView key, ByteView value) noexcept {
    head_ = head_of(key);
    key_ = key;
    value_ = value;
  }

 private:
  std::uint64_t head_ = 0;
  ByteView key_;
  ByteView value_;
};

}  // namespace palimpsest::bulk
