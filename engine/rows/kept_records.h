// Records that are kept in memory until they are written together.
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "btree/write_outcome.h"

namespace palimpsest::engine {

class KeptRecords {
 public:
  /// With so many bytes of records they are to be written.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  [[nodiscard]] bool has_room_for(std::size_t bytes) const noexcept {
    return bytes <= kBytesMax - used_;
  }
  /// Has memory for so many records more. Throws std::bad_alloc.
  void expect(std::size_t records) {
    if (bytes_ == nullptr) {
      bytes_ = std::make_unique_for_overwrite<char[]>(kBytesMax);
    }
    if (records_.size() + records > records_.capacity()) {
      records_.reserve(std::max(2 * records_.capacity(), records_.size() + records));
    }
  }
  /// Keeps a copy of a record that is expected, of has_room_for() bytes.
  void add(const btree::NewRecord& record) noexcept {
    check(has_room_for(record.key.size() + record.value.size()), "a record that is kept has room");
    records_.push_back({.key = copy_of(record.key), .value = copy_of(record.value)});
  }

  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] std::span<const btree::NewRecord> records() const noexcept { return records_; }
  /// The first records are where they belong.
  void drop(std::size_t records) noexcept {
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(records));
    if (records_.empty()) {
      clear();
    }
  }
  void clear() noexcept {
    records_.clear();
    used_ = 0;
  }

  void swap(KeptRecords& other) noexcept {
    bytes_.swap(other.bytes_);
    std::swap(used_, other.used_);
    records_.swap(other.records_);
  }

 private:
  [[nodiscard]] ByteView copy_of(ByteView bytes) noexcept {
    char* const at = bytes_.get() + used_;
    bytes.copy(at, bytes.size());
    used_ += bytes.size();
    return {at, bytes.size()};
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t used_ = 0;
  std::vector<btree::NewRecord> records_;  ///< in bytes_
};

}  // namespace palimpsest::engine
