#include "engine/table/table_access.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "base/sync_point.h"

namespace palimpsest::engine {

void refuse_missing_table(const TableState& table) {
  throw Error(ErrorCode::not_found, fmt::format("there is no table \"{}\"", table.name()));
}

TableAccess::TableAccess(txn::Transaction* in, const TableState& table, txn::Transaction* view,
                         const TableDefinition* kept, Hint hint)
    : in_(in),
      life_(in == nullptr ? 0 : in->life()),
      view_(view),
      bulk_(table.bulk_view(in)),
      table_(&table) {
  look(kept, hint);
  if (definition_ == nullptr || !rows_are_current()) [[unlikely]] {
    if (has_snapshot()) {
      confirm_view();  // if its past is gone it may have found another definition, or none
    }
  }
  if (definition_ == nullptr) [[unlikely]] {
    refuse_missing_table(table);
  }
}

bool TableAccess::has_snapshot() const noexcept {
  return view_ != nullptr || (in_ != nullptr && txn::has_one_snapshot(in_->isolation()));
}

void TableAccess::look(const TableDefinition* kept, Hint hint) {
  const bool spares_call = kept != nullptr && (hint == Hint::stable || has_snapshot());
  if (spares_call && table_->visible_to(in_) == kept && kept->is_seen_by(read_view())) [[likely]] {
    definition_ = kept;
    return;
  }
  call_ = table_->calls().enter();
  PALIMPSEST_SYNC_POINT("engine.definition.call_entered");
  definition_ = table_->seen_by(in_, read_view());
  PALIMPSEST_SYNC_POINT("engine.definition.looked");
}

// In this order, so that the definition and its trees are protected before the call is left.
void TableAccess::keep() {
  if (kept_ != nullptr) {
    return;
  }
  kept_ = definition_->shared_from_this();
  if (!has_snapshot()) {
    reader_ = TreeReader(definition_->life);
  }
  call_.leave();
}

void TableAccess::refuse_ended() {
  throw Error(ErrorCode::invalid_argument, "the transaction of this reader has ended");
}

void TableAccess::refuse_missing_index(std::string_view name) const {
  throw Error(ErrorCode::not_found,
              fmt::format("table \"{}\" has no index \"{}\"", table_->name(), name));
}

// Rows that were removed before `since` have no entry in the index, but older snapshots see them.
std::size_t TableAccess::require_index(std::string_view name) const {
  const std::size_t number = format().require_index(name);
  const Gsn since = definition_->index_lives[number]->since.load(std::memory_order_relaxed);
  if (const versioning::ReadView* const read_view = this->read_view();
      read_view != nullptr && read_view->snapshot < since) [[unlikely]] {
    throw Error(ErrorCode::not_found,
                fmt::format("table \"{}\" had no index \"{}\" when the transaction began",
                            table_->name(), name));
  }
  return number;
}

// The first check is for the definer, which drops a table before it is gone for other transactions.
bool TableAccess::still_has_rows() const noexcept {
  return table_->visible_to(in_) != nullptr &&
         !definition_->life->are_gone.load(std::memory_order_acquire);
}

// As still_has_rows(), for an index. Only for the table's definer, in its own call, is another
// definition examined: its own new one.
bool TableAccess::still_has_index(std::size_t number) const noexcept {
  const IndexLife& index = *definition_->index_lives[number];
  if (!still_has_rows() || index.is_gone.load(std::memory_order_acquire)) {
    return false;
  }
  const bool is_definer = in_ != nullptr && table_->definer() == in_;
  return !is_definer || table_->visible_to(in_)->life != definition_->life ||
         table_->visible_to(in_)->has(index);
}

}  // namespace palimpsest::engine
