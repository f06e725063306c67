// Rows that a bulk is given in ascending order of their keys, until they are appended together: as
// leaves of their own, if they are many (bulk/leaf_builder.h).
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bulk/record_buffer.h"

namespace palimpsest::engine {

class AscendingRowBuffer : public RecordBuffer {
 public:
  /// So many rows in a row may be the beginning of very many.
  static constexpr std::size_t kRunMin = 8;

  /// Of rows that are to be inserted: whether they ascend, beyond all that came before, in a run
  /// that is long enough.
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
  /// Gives the rows that are kept away, for others' memory; what was said of keys stays.
  void swap_records(RecordBuffer& others) noexcept { RecordBuffer::swap(others); }
  /// Without records: what was said of keys stays.
  void give_memory_back() noexcept { RecordBuffer::give_back(); }
  /// The next row is the first of a run.
  void begin_run() noexcept { run_ = 0; }

 private:
  std::string last_key_;  ///< that came, kept or not
  std::size_t run_ = 0;
};

}  // namespace palimpsest::engine
