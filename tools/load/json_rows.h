// Rows of JSON lines: each an object whose members are named as the table's columns.
//
// Columns that an object lacks are null. Numbers keep all their digits: columns of numbers read
// them as they are written. A string may stand for a value of any column, as it would in csv.
// Members that are no columns, or there twice, are faults.
// Thread-safety and failure: row_parser.h.
#pragma once

#include <memory>

#include "tools/load/row_parser.h"

namespace palimpsest::load {

[[nodiscard]] std::unique_ptr<RowParser> make_json_rows(const TableSchema& table,
                                                        const Dialect& dialect,
                                                        std::unique_ptr<RowCoder> coder);

}  // namespace palimpsest::load
