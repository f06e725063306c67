#include "tools/load/text_row.h"

namespace palimpsest::load {

TextRow::TextRow(RowWriter writer, const TableSchema& table) : writer_(std::move(writer)) {
  for (const ColumnDefinition& column : table.columns) {
    const DataType& type = column.type;
    Column as;
    switch (type.type) {
      case ColumnType::int8:
      case ColumnType::int16:
      case ColumnType::int32:
      case ColumnType::int64: as.form = Form::integer; break;
      case ColumnType::decimal:
        if (type.precision <= PlainNumber::kSizeMax) {
          as = {.form = Form::decimal, .scale = static_cast<std::uint8_t>(type.scale)};
        }
        break;
      case ColumnType::date: as.form = Form::date; break;
      case ColumnType::character: as.form = Form::padded; break;
      case ColumnType::varchar: as.form = Form::text; break;
      default: break;
    }
    columns_.push_back(as);
  }
}

}  // namespace palimpsest::load
