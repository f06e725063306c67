// Rows that a bulk is given in ascending order of their keys, until they are appended together: as
// leaves of their own, if they are many (btree/leaf_run.h).
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "btree/write_outcome.h"

namespace palimpsest::engine {

class AscendingRows {
 public:
  /// So many rows in a row may be the beginning of very many.
  static constexpr std::size_t kRunMin = 8;
  /// With so many bytes of rows they are appended.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  /// Of rows that are to be inserted: whether they ascend, beyond all that came before, in a run
  /// that is long enough.
  [[nodiscard]] bool ascend(std::span<const btree::NewRecord> rows) {
    bool all = true;
    for (const btree::NewRecord& row : rows) {
      const bool ascends = last_key_ < row.key;
      all = all && ascends;
      run_ = ascends ? run_ + 1 : 1;
      last_key_.assign(row.key);
    }
    return all && run_ >= kRunMin;
  }
  /// The next row is the first of a run.
  void begin_run() noexcept { run_ = 0; }

  [[nodiscard]] bool has_room_for(std::size_t bytes) const noexcept {
    return bytes <= kBytesMax - used_;
  }
  /// Has memory for so many rows more. Throws std::bad_alloc.
  void expect(std::size_t rows) {
    if (bytes_ == nullptr) {
      bytes_ = std::make_unique_for_overwrite<char[]>(kBytesMax);
    }
    if (records_.size() + rows > records_.capacity()) {
      records_.reserve(std::max(2 * records_.capacity(), records_.size() + rows));
    }
  }
  /// Keeps a copy of a row that is expected, of has_room_for() bytes.
  void add(const btree::NewRecord& row) noexcept {
    check(has_room_for(row.key.size() + row.value.size()), "a row that is kept has room");
    records_.push_back({.key = copy_of(row.key), .value = copy_of(row.value)});
  }

  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] std::span<const btree::NewRecord> records() const noexcept { return records_; }
  /// The first rows are where they belong.
  void drop(std::size_t rows) noexcept {
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(rows));
  }
  void clear() noexcept {
    records_.clear();
    used_ = 0;
  }

 private:
  [[nodiscard]] ByteView copy_of(ByteView bytes) noexcept {
    char* const at = bytes_.get() + used_;
    std::ranges::copy(bytes, at);
    used_ += bytes.size();
    return {at, bytes.size()};
  }

  std::string last_key_;  ///< that came, kept or not
  std::size_t run_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::size_t used_ = 0;
  std::vector<btree::NewRecord> records_;  ///< in bytes_
};

}  // namespace palimpsest::engine
