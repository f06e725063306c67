// Rows as text that the loader reads back as the same rows.
//
// What a format cannot say is refused: line ends and | in tbl, an empty text in a column that may
// be null where both look alike, text that is no UTF-8 in jsonl.
// Failure: Error invalid_argument, naming the column. Thread-safety: belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/row.h"
#include "palimpsest/schema.h"

#include "tools/load/dialect.h"

namespace palimpsest::load {

class RowText {
 public:
  /// `columns`: numbers of those that are written, in order. `table` and `dialect` outlive it.
  RowText(const TableSchema& table, const Dialect& dialect, std::vector<std::size_t> columns);

  /// The names of the columns, as a line; nothing in JSON.
  void append_header(std::string& into) const;
  void append(const RowView& row, std::string& into);
  /// Whether there are rows before the next one, which another RowText has written.
  void begin_block(bool has_rows) noexcept { has_rows_ = has_rows; }
  /// Behind the last row.
  void append_end(std::string& into) const;

 private:
  void append_field(const ColumnDefinition& column, const Value& value, std::string& into);
  void append_null(std::string& into) const;
  [[nodiscard]] bool is_plain_csv(std::string_view text) const;
  void append_csv(const ColumnDefinition& column, std::string_view text, std::string& into) const;
  void append_tsv(const ColumnDefinition& column, std::string_view text, std::string& into) const;
  void append_tbl(const ColumnDefinition& column, std::string_view text, std::string& into) const;
  void append_object(const RowView& row, std::string& into);
  void append_member(const ColumnDefinition& column, const Value& value, std::string& into);
  void append_line_end(std::string& into) const;
  [[noreturn]] void refuse(const ColumnDefinition& column, std::string_view why) const;

  const TableSchema& table_;
  const Dialect& dialect_;
  std::string delimiter_;
  std::array<bool, 256> is_special_{};  ///< bytes that csv puts into quotes
  std::vector<std::size_t> columns_;
  std::vector<std::string> members_{};  ///< of JSON: {"name": and ,"name":
  bool has_rows_ = false;
  std::string text_{};  ///< of the value that is written
};

/// Appends a string of JSON; false if the text is no UTF-8.
[[nodiscard]] bool append_json_string(std::string_view text, std::string& into);

}  // namespace palimpsest::load
