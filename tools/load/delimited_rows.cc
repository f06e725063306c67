#include "tools/load/delimited_rows.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdint>
#include <utility>

#include "tools/load/batch_writer.h"
#include "tools/load/record_reader.h"
#include "tools/load/text_row.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kEscapedNull = "\\N";
constexpr std::string_view kNoUtf8 =
    "no UTF-8 (--encoding says what the file is in, as latin1 or windows-1252; --encoding bytes "
    "takes "
    "it as it is)";
constexpr std::string_view kLateEscape =
    "a backslash or a quote, which the sample that says how the file is written has not: --format "
    "tsv "
    "reads \\t \\n \\r \\\\ as single bytes, --format csv --delimiter tab quotes, and with --quote "
    "none "
    "both as they are";

bool is_text(ColumnType type) noexcept {
  return type == ColumnType::character || type == ColumnType::varchar || type == ColumnType::bytes;
}

bool is_utf8_type(ColumnType type) noexcept {
  return type == ColumnType::character || type == ColumnType::varchar;
}

/// With what reads such a record, if something does.
std::string text_of_counts(std::span<const RawField> fields, std::size_t expected) {
  const bool is_blank =
      fields.size() == 1 && fields[0].text.find_first_not_of(" \t") == std::string_view::npos;
  std::string_view advice;
  if (is_blank) {
    advice = "; --skip-blank skips empty lines";
  } else if (fields.size() < expected) {
    advice = "; --fill-missing makes missing last fields null";
  } else if (fields.size() == expected + 1 && fields.back().text.empty()) {
    advice = "; --trailing-delimiter allows a delimiter behind the last field";
  }
  return fmt::format("{} field{}, {} expected{}", fields.size(), fields.size() == 1 ? "" : "s",
                     expected, advice);
}

/// Without a coder: for judging rows alone.
std::optional<TextRow> text_row(const TableSchema& table, const ValueRules& rules,
                                const RowCoder* coder) {
  std::optional<RowWriter> writer = coder != nullptr ? coder->writer() : RowWriter::of(table);
  return writer ? std::optional<TextRow>(std::in_place, *std::move(writer), table, rules)
                : std::nullopt;
}

class DelimitedRows : public RowParser {
 public:
  DelimitedRows(const TableSchema& table, const Dialect& dialect, std::unique_ptr<RowCoder> coder)
      : table_(table),
        dialect_(dialect),
        row_(text_row(table, dialect.values, coder.get())),
        writer_(table, dialect.values, std::move(coder)) {}

  RowBatch parse(PlannedChunk input) override {
    writer_.begin(std::move(input.chunk));
    const std::string_view text = writer_.chunk().text();
    may_be_no_utf8_ = dialect_.checks_utf8 && !simdjson::validate_utf8(text.data(), text.size());
    blank_lines_ = 0;
    for (const std::size_t column : input.plan->absent) {
      writer_.values()[column] = Value();
    }
    if (input.plan->numbered) {
      writer_.values()[*input.plan->numbered] = std::int64_t{0};
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
    return writer_.end(records.skipped_lines() + blank_lines_);
  }

 private:
  void add_plain_record(const ColumnPlan& plan) {
    writer_.begin_record(plain_.begin, plain_.end, writer_.chunk().line + plain_.lines_before);
    add_text_row(plan, [&](std::size_t number) { return RawField{.text = plain_.field(number)}; });
  }

  void add_record(const ColumnPlan& plan) {
    if (is_nothing(plan)) {
      ++blank_lines_;
      return;
    }
    writer_.begin_record(record_.begin, record_.end, writer_.chunk().line + record_.lines_before);
    if (record_.fault) {
      writer_.end_fault(FaultKind::parse, record_.fault->at, BatchRecord::kNone,
                        record_.fault->reason, shown());
      return;
    }
    if (!has_as_many_fields(plan.columns.size())) {
      writer_.end_fault(FaultKind::parse, record_.begin, BatchRecord::kNone,
                        text_of_counts(record_.fields, plan.columns.size()), shown());
      return;
    }
    const auto field_of = [&](std::size_t number) -> const RawField& {
      return number < record_.fields.size() ? record_.fields[number] : kMissing;
    };
    row_ ? add_text_row(plan, field_of) : add_row_of_values(plan, field_of);
  }

  template <class FieldOf>
  void add_row_of_values(const ColumnPlan& plan, const FieldOf& field_of) {
    const auto set_plain = [&](std::size_t column, std::string_view text) {
      const DataType& type = table_.columns[column].type;
      return !dialect_.values.changes(type.type) &&
             set_plain_value(type, text, writer_.values()[column]);
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
    if (plan.numbered) {
      row.set(*plan.numbered, std::int64_t{0});
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
        writer_.end_fault(fault->kind, place_of(field), column, fault->reason, field.text);
        return false;
      }
      set_value(column);
    }
    return true;
  }

  /// A field at its end, so that a fault has a place.
  [[nodiscard]] std::size_t place_of(const RawField& field) const noexcept {
    if (&field == &kMissing) {
      return record_.begin;
    }
    const auto at = static_cast<std::size_t>(field.text.data() - writer_.chunk().text().data());
    return at - (field.quoted ? 1 : 0);
  }

  /// Whether a record of several fields would be made of a line without anything.
  [[nodiscard]] bool is_nothing(const ColumnPlan& plan) const noexcept {
    return dialect_.blank_is_nothing && plan.columns.size() > 1 && !record_.fault &&
           record_.fields.size() == 1 && !record_.fields[0].quoted &&
           record_.fields[0].text.find_first_not_of(" \t") == std::string_view::npos;
  }

  bool has_as_many_fields(std::size_t expected) {
    if (dialect_.drops_empty_end && record_.fields.size() == expected + 1 &&
        record_.fields.back().text.empty()) {
      record_.fields.pop_back();
    }
    return record_.fields.size() == expected ||
           (dialect_.fill_missing && record_.fields.size() < expected);
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
           (dialect_.null_rule == NullRule::empty || field.quoted) && !may_be_no_utf8_ &&
           !dialect_.no_escapes_seen;
  }

  /// Whether a field is the dialect's way to say nothing.
  [[nodiscard]] bool is_null(const RawField& field, const DataType& type) const noexcept {
    if (field.quoted) {
      return false;
    }
    if (&field == &kMissing) {
      return true;
    }
    switch (dialect_.null_rule) {
      case NullRule::text: return dialect_.is_null_text(field.text);
      // In a column that was chosen never to be null: the choice is made again.
      case NullRule::empty:
        return field.text.empty() &&
               (type.nullable || !is_text(type.type) || dialect_.values.exact);
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
    if (may_be_no_utf8_ && is_utf8_type(type.type) && !is_utf8(text)) {
      return ValueFault{.kind = FaultKind::type, .reason = std::string(kNoUtf8)};
    }
    if (dialect_.no_escapes_seen && (field.escaped || text.starts_with('"'))) {
      return ValueFault{.kind = FaultKind::parse, .reason = std::string(kLateEscape)};
    }
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

  /// Stands for a field that a record has not.
  inline static const RawField kMissing{};

  const TableSchema& table_;
  const Dialect& dialect_;
  std::optional<TextRow> row_;  ///< if rows can be written from texts
  BatchWriter writer_;
  RawRecord record_{};
  PlainRecord plain_{};            ///< instead of that
  std::uint64_t blank_lines_ = 0;  ///< of the chunk, as the next
  bool may_be_no_utf8_ = false;
};

}  // namespace

std::unique_ptr<RowParser> make_delimited_rows(const TableSchema& table, const Dialect& dialect,
                                               std::unique_ptr<RowCoder> coder) {
  return std::make_unique<DelimitedRows>(table, dialect, std::move(coder));
}

}  // namespace palimpsest::load
