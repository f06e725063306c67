// Makes rows of the values of their columns, as their receiver stores them: beside each other,
// by the threads that parse.
//
// Thread-safety: belongs to one thread at a time. Failure: Error invalid_argument for values that
// make no row, of which the message says why; any other one ends the load.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "palimpsest/row_writer.h"
#include "palimpsest/table.h"
#include "palimpsest/value.h"

namespace palimpsest::load {

class RowCoder {
 public:
  virtual ~RowCoder() = default;
  RowCoder(const RowCoder&) = delete;
  RowCoder& operator=(const RowCoder&) = delete;

  /// The row by the values of all columns. A view, valid until the next call and as long as the
  /// values are.
  [[nodiscard]] virtual EncodedRow row_of(std::span<const Value> values) = 0;
  /// Writes the same rows column by column; nothing if they cannot be written so.
  [[nodiscard]] virtual std::optional<RowWriter> writer() const { return std::nullopt; }

 protected:
  RowCoder() = default;
};

/// One for each thread that parses; null: the rows are not wanted.
using RowCoders = std::function<std::unique_ptr<RowCoder>()>;

}  // namespace palimpsest::load
