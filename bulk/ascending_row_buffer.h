// Rows that a bulk inserts in ascending order of their keys, buffered until they are appended
// together: as leaves of their own, if they are many (bulk/leaf_builder.h).
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bulk/record_buffer.h"

namespace palimpsest::bulk {

class AscendingRowBuffer : public RecordBuffer {
 public:
  /// This many consecutive ascending rows may be the beginning of very many.
  static constexpr std::size_t kRunMin = 8;

  /// Notes rows that are to be inserted. Returns whether they ascend, beyond all rows before, in a
  /// run of at least kRunMin.
  [[nodiscard]] bool ascend(std::span<const btree::NewRecord> rows) {
    bool all = true;
    ByteView last = last_key_;
    for (const btree::NewRecord& row : rows) {
      const bool ascends = last < row.key;
      all = all && ascends;
      run_ = ascends ? run_ + 1 : 1;
      last = row.key;
    }
    if (!rows.empty()) {
      last_key_.assign(last);
    }
    return all && run_ >= kRunMin;
  }
  /// Exchanges the buffered rows for `others`; the state of the run stays.
  void swap_records(RecordBuffer& others) noexcept { RecordBuffer::swap(others); }
  /// Frees the memory of a buffer without records; the state of the run stays.
  void give_memory_back() noexcept { RecordBuffer::give_back(); }
  /// The next row is the first of a run.
  void begin_run() noexcept { run_ = 0; }

 private:
  std::string last_key_;  ///< of the last row, buffered or not
  std::size_t run_ = 0;
};

}  // namespace palimpsest::bulk
