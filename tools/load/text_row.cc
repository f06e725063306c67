#include "tools/load/text_row.h"

namespace palimpsest::load {

TextRow::TextRow(RowWriter writer, const TableSchema& table, const ValueRules& rules)
    : writer_(std::move(writer)) {
  const bool has_plain_numbers = rules.decimal_point == '.' && rules.thousands == '\0';
  for (const ColumnDefinition& column : table.columns) {
    const DataType& type = column.type;
    Column as;
    switch (type.type) {
      case ColumnType::int8:
      case ColumnType::int16:
      case ColumnType::int32:
      case ColumnType::int64:
        if (has_plain_numbers) {
          as.form = rules.exact ? Form::exact_integer : Form::integer;
        }
        break;
      case ColumnType::decimal:
        if (has_plain_numbers && type.precision <= PlainNumber::kSizeMax) {
          as = {.form = rules.exact ? Form::exact_decimal : Form::decimal,
                .scale = static_cast<std::uint8_t>(type.scale)};
        }
        break;
      case ColumnType::date: as.form = rules.date_format.empty() ? Form::date : Form::other; break;
      case ColumnType::character: as.form = Form::padded; break;
      case ColumnType::varchar: as.form = Form::text; break;
      default: break;
    }
    columns_.push_back(as);
  }
}

}  // namespace palimpsest::load
