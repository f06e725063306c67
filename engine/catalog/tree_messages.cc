#include "engine/catalog/tree_messages.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

namespace palimpsest::engine {
namespace {

std::string of_table(const TableState& table, std::string_view what) {
  return fmt::format(
      "table \"{}\": {}; other tables can be used, and so can its rows on other pages: copy them, "
      "drop the table and load it again, or restore a backup; palimpsest salvage copies everything "
      "readable into a new database",
      table.name(), what);
}

std::string of_index(const TableState& table, const TableDefinition& definition, std::size_t number,
                     std::string_view what) {
  return fmt::format("index \"{}\" of table \"{}\": {}; drop the index and create it again",
                     definition.format->stored().indexes[number].schema.name, table.name(), what);
}

/// Nothing if the tree is not this definition's.
std::optional<std::string> message_of(const TableState& table, const TableDefinition& definition,
                                      TreeId tree, std::string_view what) {
  if (definition.rows->id() == tree) {
    return of_table(table, what);
  }
  for (std::size_t number = 0; number < definition.indexes.size(); ++number) {
    if (definition.indexes[number]->id() == tree) {
      return of_index(table, definition, number, what);
    }
  }
  return std::nullopt;
}

/// Nothing if the tree is not this table's. The definitions stay in memory during the Call
/// (base/call_epochs.h).
std::optional<std::string> message_of(const TableState& table, TreeId tree, std::string_view what) {
  const CallEpochs::Call call = table.calls().enter();
  std::optional<std::string> message;
  table.visit_definitions([&](const TableDefinition& definition) {
    message = message_of(table, definition, tree, what);
    return !message;
  });
  return message;
}

}  // namespace

void TreeMessages::know(const TableCatalog* tables) noexcept {
  const std::lock_guard lock(mutex_);
  tables_ = tables;
}

std::string TreeMessages::message_of(TreeId tree, std::string_view what) const {
  const std::lock_guard lock(mutex_);
  if (tables_ != nullptr) {
    for (const TablePtr& table : tables_->all()) {
      if (const auto message = engine::message_of(*table, tree, what)) {
        return *message;
      }
    }
  }
  return fmt::format("tree {}: {}", raw(tree), what);
}

}  // namespace palimpsest::engine
