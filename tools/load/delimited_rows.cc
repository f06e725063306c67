#include "tools/load/delimited_rows.h"

#include <fmt/format.h>

#include <utility>

#include "tools/load/batch_writer.h"
#include "tools/load/record_reader.h"
#include "tools/load/text_row.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kEscapedNull = "\\N";

bool is_text(ColumnType type) noexcept {
  return type == ColumnType::character || type == ColumnType::varchar || type == ColumnType::bytes;
}

std::string text_of_counts(std::size_t fields, std::size_t expected) {
  return fmt::format("{} field{}, {} expected", fields, fields == 1 ? "" : "s", expected);
}

/// Without a coder: for judging rows alone.
std::optional<TextRow> text_row(const TableSchema& table, const RowCoder* coder) {
  std::optional<RowWriter> writer = coder != nullptr ? coder->writer() : RowWriter::of(table);
  return writer ? std::optional<TextRow>(std::in_place, *std::move(writer), table) : std::nullopt;
}

class DelimitedRows : public RowParser {
 public:
  DelimitedRows(const TableSchema& table, const Dialect& dialect, std::unique_ptr<RowCoder> coder)
      : table_(table),
        dialect_(dialect),
        row_(text_row(table, coder.get())),
        writer_(table, std::move(coder)) {}

  RowBatch parse(PlannedChunk input) override {
    writer_.begin(std::move(input.chunk));
    for (const std::size_t column : input.plan->absent) {
      writer_.values()[column] = Value();
    }
    RecordReader records(dialect_, writer_.chunk().text(), writer_.chunk().is_last,
                         RecordReader::Reads::fields);
    const ColumnPlan& plan = *input.plan;
    for (;;) {
      if (row_ && records.next_plain(plan.columns.size(), plain_)) {
        add_plain_record(plan);
      } else if (records.next(record_)) {
        add_record(plan);
      } else {
        break;
      }
    }
    return writer_.end(records.skipped_lines());
  }

 private:
  void add_plain_record(const ColumnPlan& plan) {
    writer_.begin_record(plain_.begin, plain_.end, writer_.chunk().line + plain_.lines_before);
    add_text_row(plan, [&](std::size_t number) { return RawField{.text = plain_.field(number)}; });
  }

  void add_record(const ColumnPlan& plan) {
    writer_.begin_record(record_.begin, record_.end, writer_.chunk().line + record_.lines_before);
    if (record_.fault) {
      writer_.end_fault(FaultKind::parse, record_.fault->at, BatchRecord::kNone,
                        record_.fault->reason, shown());
      return;
    }
    if (!has_as_many_fields(plan.columns.size())) {
      writer_.end_fault(FaultKind::parse, record_.begin, BatchRecord::kNone,
                        text_of_counts(record_.fields.size(), plan.columns.size()), shown());
      return;
    }
    const auto field_of = [&](std::size_t number) -> const RawField& {
      return record_.fields[number];
    };
    row_ ? add_text_row(plan, field_of) : add_row_of_values(plan, field_of);
  }

  template <class FieldOf>
  void add_row_of_values(const ColumnPlan& plan, const FieldOf& field_of) {
    const auto set_plain = [&](std::size_t column, std::string_view text) {
      return set_plain_value(table_.columns[column].type, text, writer_.values()[column]);
    };
    if (set_columns(plan, field_of, set_plain, [](std::size_t) {})) {
      writer_.end_row();
    }
  }

  template <class FieldOf>
  void add_text_row(const ColumnPlan& plan, const FieldOf& field_of) {
    RowWriter& row = row_->writer();
    row.begin(writer_.rows());
    for (const std::size_t column : plan.absent) {
      row.set(column, Value());
    }
    const auto set_plain = [&](std::size_t column, std::string_view text) {
      return row_->set_plain(column, text);
    };
    const auto set_value = [&](std::size_t column) { row.set(column, writer_.values()[column]); };
    if (set_columns(plan, field_of, set_plain, set_value)) {
      writer_.end_row(row);
    } else {
      row.drop();
    }
  }

  /// By set_plain(column, text) where that can; else by the column's value, and set_value(column).
  /// False: there is a fault instead.
  template <class FieldOf, class SetPlain, class SetValue>
  bool set_columns(const ColumnPlan& plan, const FieldOf& field_of, const SetPlain& set_plain,
                   const SetValue& set_value) {
    for (std::size_t i = 0; i < plan.columns.size(); ++i) {
      const std::size_t column = plan.columns[i];
      const RawField& field = field_of(i);
      if (column == ColumnPlan::kIgnored || (is_plain(field) && set_plain(column, field.text)))
          [[likely]] {
        continue;
      }
      if (const auto fault = parse(column, field, writer_.values()[column])) {
        const auto at = static_cast<std::size_t>(field.text.data() - writer_.chunk().text().data());
        writer_.end_fault(fault->kind, at - (field.quoted ? 1 : 0), column, fault->reason,
                          field.text);
        return false;
      }
      set_value(column);
    }
    return true;
  }

  /// In tbl a delimiter may also stand behind the last field.
  bool has_as_many_fields(std::size_t expected) {
    if (dialect_.format == Format::tbl && record_.fields.size() == expected + 1 &&
        record_.fields.back().text.empty()) {
      record_.fields.pop_back();
    }
    return record_.fields.size() == expected;
  }

  [[nodiscard]] std::string_view shown() const {
    std::string_view text =
        writer_.chunk().text().substr(record_.begin, record_.end - record_.begin);
    for (const char end : {'\n', '\r'}) {
      text.remove_suffix(text.ends_with(end) ? 1 : 0);
    }
    return text;
  }

  /// Whether a field is surely no NULL, and its text what stands there.
  [[nodiscard]] bool is_plain(const RawField& field) const noexcept {
    return !field.escaped && !field.text.empty() &&
           (dialect_.null_rule == NullRule::empty || field.quoted);
  }

  /// Whether a field is the dialect's way to say nothing.
  [[nodiscard]] bool is_null(const RawField& field, const DataType& type) const noexcept {
    if (field.quoted) {
      return false;
    }
    switch (dialect_.null_rule) {
      case NullRule::text: return field.text == dialect_.null_text;
      case NullRule::empty: return field.text.empty() && (type.nullable || !is_text(type.type));
      case NullRule::escaped: break;
    }
    return field.text == kEscapedNull || (field.text.empty() && !is_text(type.type));
  }

  std::optional<ValueFault> parse(std::size_t column, const RawField& field, Value& value) {
    const DataType& type = table_.columns[column].type;
    if (is_null(field, type)) {
      value = Value();
      return type.nullable ? std::nullopt : std::optional(null_fault());
    }
    std::string_view text = field.text;
    if (field.escaped) {
      const Unescaped meant = unescape(dialect_, field, writer_.take(field.text.size()).data());
      if (!meant.reason.empty()) {
        return ValueFault{.kind = FaultKind::parse, .reason = std::string(meant.reason)};
      }
      text = meant.text;
    }
    // Empty bytes, where they are no NULL, need no \x.
    const bool is_raw = type.type == ColumnType::bytes && text.empty() && !field.quoted;
    return writer_.parse(column, text, is_raw ? BytesText::raw : dialect_.bytes, value);
  }

  const TableSchema& table_;
  const Dialect& dialect_;
  std::optional<TextRow> row_;  ///< if rows can be written from texts
  BatchWriter writer_;
  RawRecord record_{};
  PlainRecord plain_{};  ///< instead of that
};

}  // namespace

std::unique_ptr<RowParser> make_delimited_rows(const TableSchema& table, const Dialect& dialect,
                                               std::unique_ptr<RowCoder> coder) {
  return std::make_unique<DelimitedRows>(table, dialect, std::move(coder));
}

}  // namespace palimpsest::load
