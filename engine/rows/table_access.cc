#include "engine/rows/table_access.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

namespace palimpsest::engine {

void refuse_missing_table(const TableState& table) {
  throw Error(ErrorCode::not_found, fmt::format("there is no table \"{}\"", table.name()));
}

TableAccess::TableAccess(txn::Transaction* in, const TableState& table, txn::Transaction* view)
    : in_(in),
      life_(in == nullptr ? 0 : in->life()),
      view_(view),
      bulk_(table.bulk_view(in)),
      table_(&table),
      definition_(table.seen_by(in, viewer())) {
  if (definition_ == nullptr) [[unlikely]] {
    refuse_missing_table(table);
  }
}

void TableAccess::refuse_ended() {
  throw Error(ErrorCode::invalid_argument, "the transaction of this reader has ended");
}

void TableAccess::refuse_missing_index(std::string_view name) const {
  throw Error(ErrorCode::not_found,
              fmt::format("table \"{}\" has no index \"{}\"", table_->name(), name));
}

// Rows that are gone since then have no entry in it, and older snapshots see them.
std::size_t TableAccess::require_index(std::string_view name) const {
  const std::size_t number = format().require_index(name);
  const Gsn since = definition_->index_since[number]->load(std::memory_order_relaxed);
  if (const versioning::Viewer* const viewer = this->viewer();
      viewer != nullptr && viewer->snapshot < since) [[unlikely]] {
    throw Error(ErrorCode::not_found,
                fmt::format("table \"{}\" had no index \"{}\" when the transaction began",
                            table_->name(), name));
  }
  return number;
}

// A tree may have become that of another index of the same table.
bool TableAccess::still_has_index(std::size_t number) const {
  const IndexSchema& schema = format().stored().indexes[number].schema;
  const TableDefinition* now = table_->visible_to(in_);
  for (; now != nullptr; now = now->replaced) {
    const auto found = now->format->find_index(schema.name);
    if (found && now->indexes[*found] == &index(number)) {
      return now->format->stored().indexes[*found].schema == schema;
    }
  }
  return false;
}

}  // namespace palimpsest::engine
