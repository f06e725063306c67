// Rows of delimited text: csv, tsv, tbl. Thread-safety and failure: row_parser.h.
#pragma once

#include <memory>

#include "tools/load/row_parser.h"

namespace palimpsest::load {

[[nodiscard]] std::unique_ptr<RowParser> make_delimited_rows(const TableSchema& table,
                                                             const Dialect& dialect,
                                                             std::unique_ptr<RowCoder> coder);

}  // namespace palimpsest::load
