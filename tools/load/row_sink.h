// Where rows go: a table, by whatever way of writing it. What reads and judges the input knows
// nothing else of the engine.
//
// Thread-safety: belongs to one thread. Failure: Error, after which the sink is given up: then, and
// whenever finish() has not returned, the table is as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "palimpsest/value.h"

#include "tools/load/fault.h"

namespace palimpsest::load {

/// What is done with a row whose key, or whose values in a unique index, are there already.
enum class OnDuplicate : std::uint8_t {
  error = 1,  ///< it is a fault
  skip,       ///< the row that is there stays
  replace,    ///< the row with that key goes; one in a unique index is a fault
};

enum class PutResult : std::uint8_t { added = 1, replaced, skipped, refused };

struct Put {
  PutResult result{};
  Fault fault{};  ///< if refused, without its position
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  RowSink(const RowSink&) = delete;
  RowSink& operator=(const RowSink&) = delete;

  /// A row by the values of all its columns.
  [[nodiscard]] virtual Put put(std::span<const Value> row) = 0;
  /// All rows count, and survive any crash.
  virtual void finish() = 0;

 protected:
  RowSink() = default;
};

}  // namespace palimpsest::load
