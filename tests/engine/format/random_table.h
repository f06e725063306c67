// Random schemas and rows, and a simple order of values: the models of what tables store.
#pragma once

#include <compare>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "base/bytes.h"
#include "base/random.h"

namespace palimpsest::test {

/// A row's values, and the texts that they view. Moved, not copied.
struct RandomRow {
  RandomRow() = default;
  RandomRow(RandomRow&&) noexcept = default;
  RandomRow& operator=(RandomRow&&) noexcept = default;
  RandomRow(const RandomRow&) = delete;
  RandomRow& operator=(const RandomRow&) = delete;

  std::vector<Value> values;  ///< of all columns in declared order
  std::deque<std::string> texts;
};

/// The bytes of a row, to be written in place.
[[nodiscard]] inline MutableBytes bytes_of(std::string& row) {
  return std::as_writable_bytes(std::span(row.data(), row.size()));
}

/// A valid schema of 1 to 9 columns, of all types and nullable or not; sometimes long texts.
[[nodiscard]] TableSchema random_schema(Random& random);
/// A valid index of some of its columns.
[[nodiscard]] IndexSchema random_index(Random& random, const TableSchema& table);
/// A value of the column: a frequent one, the minimum or maximum, or any. Its text is added to
/// `texts`.
[[nodiscard]] Value random_value(Random& random, const DataType& type,
                                 std::deque<std::string>& texts);
[[nodiscard]] RandomRow random_row(Random& random, const TableSchema& table);

/// The values of the columns of these names.
[[nodiscard]] std::vector<Value> values_of(const TableSchema& table,
                                           std::span<const std::string> names,
                                           std::span<const Value> values);

/// The expected order of keys of one column.
[[nodiscard]] std::weak_ordering order_of(const DataType& type, const Value& a, const Value& b);
/// The expected order of keys of these columns.
[[nodiscard]] std::weak_ordering order_of(const TableSchema& table,
                                          std::span<const std::string> names,
                                          std::span<const Value> a, std::span<const Value> b);

}  // namespace palimpsest::test
