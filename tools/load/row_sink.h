// Where rows go: a table, by whatever way of writing it. What reads and judges the input knows
// nothing else of the engine.
//
// Rows are put in the order of the input; what becomes of one may be known only later, and is told
// with where it came from.
// Thread-safety: belongs to one thread. Failure: Error, Interrupted, after which the sink is given
// up: then, and whenever finish() has not returned, the table is as it was. But if finish() throws
// Error failed, all rows count or none, and opening the database again will tell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "palimpsest/table.h"

#include "tools/load/fault.h"
#include "tools/load/row_coder.h"
#include "tools/load/row_origin.h"
#include "tools/load/stage_clock.h"

namespace palimpsest::load {

/// What is done with a row whose key, or whose values in a unique index, are there already.
enum class OnDuplicate : std::uint8_t {
  error = 1,  ///< it is a fault
  skip,       ///< the row that is there stays
  replace,    ///< the row with that key goes; one in a unique index is a fault
};

enum class PutResult : std::uint8_t { added = 1, replaced, skipped };

/// Is told what has become of rows.
class RowOutcomes {
 public:
  virtual ~RowOutcomes() = default;
  RowOutcomes(const RowOutcomes&) = delete;
  RowOutcomes& operator=(const RowOutcomes&) = delete;

  virtual void done(PutResult result, std::uint64_t rows) = 0;
  /// The fault has no position yet.
  virtual void refused(Fault fault, const RowOrigin& origin) = 0;
  /// False: so much was refused that no row will count.
  [[nodiscard]] virtual bool goes_on() const = 0;

 protected:
  RowOutcomes() = default;
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  /// What putting rows takes time for.
  [[nodiscard]] virtual Stage stage() const noexcept = 0;
  /// What makes the rows that are put, for a thread of its own; null: their bytes do not matter.
  [[nodiscard]] virtual std::unique_ptr<RowCoder> coder() = 0;
  /// The sink may keep views of the row and of the origin's record: until let_go().
  virtual void put(const EncodedRow& row, const RowOrigin& origin) = 0;
  /// What was put will be gone: the sink keeps no views of it. Says nothing of what became of it.
  virtual void let_go() {}
  /// What became of the rows so far has been told, but of those that are sorted first.
  virtual void flush() = 0;
  /// Bytes of rows that were put since save(); 0: it keeps none for another load.
  [[nodiscard]] virtual std::uint64_t unsaved_bytes() const noexcept { return 0; }
  /// All rows so far survive any crash, as sorted rows: RowSortOptions::saved for another load.
  [[nodiscard]] virtual std::string save() { return {}; }
  /// There are no more rows: what became of all of them has been told.
  virtual void end() = 0;
  /// After end(): all rows count, and survive any crash. Tells nothing of what became of any.
  virtual void finish() = 0;

 protected:
  RowSink() = default;
};

}  // namespace palimpsest::load
