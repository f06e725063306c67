#include "engine/catalog/altered_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest::engine {
namespace {

/// The names of columns before and after.
class ColumnNames {
 public:
  /// Throws invalid_argument unless each renamed column is renamed once, and exists before and
  /// after.
  ColumnNames(const TableSchema& before, const TableAlteration& alteration);

  /// Nothing: it is a new column.
  [[nodiscard]] std::optional<std::size_t> number_before(std::string_view name) const;
  [[nodiscard]] std::string_view after(std::string_view name) const {
    const auto renamed = std::ranges::find(renamed_, name, &ColumnRename::from);
    return renamed == renamed_.end() ? name : std::string_view(renamed->to);
  }
  /// The new names of all; `of` names their owner in errors.
  [[nodiscard]] std::vector<std::string> after(const std::vector<std::string>& names,
                                               std::string_view of) const;

 private:
  [[noreturn]] void refuse(std::string_view column, std::string_view why) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", column \"{}\": {}", before_.name, column, why));
  }
  void judge(const ColumnRename& rename) const;

  const TableSchema& before_;
  const std::vector<ColumnDefinition>& columns_;
  const std::vector<ColumnRename>& renamed_;
};

ColumnNames::ColumnNames(const TableSchema& before, const TableAlteration& alteration)
    : before_(before), columns_(alteration.columns), renamed_(alteration.renamed) {
  std::ranges::for_each(renamed_, [&](const ColumnRename& rename) { judge(rename); });
}

void ColumnNames::judge(const ColumnRename& rename) const {
  if (!before_.find_column(rename.from)) {
    refuse(rename.from, "there is no such column to rename");
  }
  if (std::ranges::find(columns_, rename.to, &ColumnDefinition::name) == columns_.end()) {
    refuse(rename.from,
           fmt::format("it is renamed to \"{}\", which is not among the new columns", rename.to));
  }
  if (std::ranges::count(renamed_, rename.from, &ColumnRename::from) > 1 ||
      std::ranges::count(renamed_, rename.to, &ColumnRename::to) > 1) {
    refuse(rename.from,
           fmt::format("it is renamed to \"{}\", but one of the two is named twice", rename.to));
  }
}

// If a column was renamed, another column may take its old name.
std::optional<std::size_t> ColumnNames::number_before(std::string_view name) const {
  const auto renamed = std::ranges::find(renamed_, name, &ColumnRename::to);
  if (renamed != renamed_.end()) {
    return before_.find_column(renamed->from);
  }
  return std::ranges::find(renamed_, name, &ColumnRename::from) == renamed_.end()
             ? before_.find_column(name)
             : std::nullopt;
}

std::vector<std::string> ColumnNames::after(const std::vector<std::string>& names,
                                            std::string_view of) const {
  std::vector<std::string> after;
  for (const std::string& name : names) {
    after.emplace_back(this->after(name));
    const auto column = std::ranges::find(columns_, after.back(), &ColumnDefinition::name);
    if (column == columns_.end() || number_before(after.back()) != before_.find_column(name)) {
      refuse(name, fmt::format("it is in {}, and must be kept", of));
    }
  }
  return after;
}

void require_same_types(const TableSchema& before, const TableSchema& after) {
  for (std::size_t number = 0; number < after.key.size(); ++number) {
    const DataType& was = before.columns[*before.find_column(before.key[number])].type;
    const DataType& is = after.columns[*after.find_column(after.key[number])].type;
    if (was != is) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("table \"{}\", column \"{}\": it is in the key, and must stay {}",
                              after.name, after.key[number], text_of(was)));
    }
  }
}

}  // namespace

AlteredTable altered(const StoredTable& before, const TableAlteration& alteration) {
  const ColumnNames names(before.schema, alteration);
  AlteredTable table{.stored = before, .sources = {}};
  TableSchema& schema = table.stored.schema;
  schema.columns = alteration.columns;
  schema.key = names.after(before.schema.key, "the key");
  schema.validate();
  require_same_types(before.schema, schema);
  for (StoredIndex& index : table.stored.indexes) {
    index.schema.columns =
        names.after(index.schema.columns, fmt::format("index \"{}\"", index.schema.name));
    index.schema.validate(schema);
  }
  for (const ColumnDefinition& column : schema.columns) {
    table.sources.push_back(names.number_before(column.name));
  }
  return table;
}

}  // namespace palimpsest::engine
