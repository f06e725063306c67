// The implementation of the public API's Table: one table of one database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "palimpsest/table.h"

#include "engine/api/database_state.h"
#include "engine/api/transaction_state.h"
#include "engine/catalog/table_catalog.h"
#include "engine/table/table_reader.h"

namespace palimpsest::detail {

class TableHandle {
 public:
  /// `by`: the transaction that asked for the handle; null: none.
  TableHandle(DatabaseState& database, engine::TablePtr table, engine::DefinitionPtr definition,
              const txn::Transaction* by) noexcept
      : database_(database),
        table_(std::move(table)),
        first_(std::move(definition)),
        by_(by),
        life_(by == nullptr ? 0 : by->life()),
        snapshot_(snapshot_of(by)) {}

  [[nodiscard]] DatabaseState& database() const noexcept { return database_; }
  [[nodiscard]] const engine::TableState& table() const noexcept { return *table_; }
  /// The definition by which its rows are read: as the transaction that asked for the handle sees
  /// it, until that ends; afterwards as a transaction that begins now sees it. For a table that was
  /// dropped, or is not visible yet, the definition when the handle was made; for a closed
  /// database, the one that was committed then.
  [[nodiscard]] engine::DefinitionPtr definition() const noexcept {
    engine::DefinitionPtr now = visible_definition();
    if (now == nullptr) {
      return first_;
    }
    return now;
  }
  /// As definition(), but throws not_found if there is none, invalid_argument if the database was
  /// closed.
  [[nodiscard]] engine::DefinitionPtr require_definition() const;
  [[nodiscard]] std::shared_ptr<const TableFormat> format() const noexcept {
    return definition()->format;
  }
  /// For readers, of an open database. The definition when the handle was made mostly is still
  /// current: the handle owns it, so that readers need not.
  [[nodiscard]] engine::ReadableTable readable() const noexcept {
    const bool sees_newest = database_.isolation == txn::Isolation::none;
    return {.table = table_.get(),
            .kept = first_.get(),
            .transactions = sees_newest ? nullptr : &database_.engine->transactions()};
  }

  /// Throws invalid_argument if the database was closed.
  void require_open() const;
  /// For a read. Throws invalid_argument if the transaction has ended or belongs to another
  /// database, or the database was closed.
  [[nodiscard]] InTransaction reader(const Transaction* in) const;
  /// For a write. Also throws invalid_argument if the transaction or the database is read-only.
  [[nodiscard]] InTransaction writer(const Transaction* in) const;

 private:
  [[nodiscard]] engine::DefinitionPtr visible_definition() const noexcept {
    const bool is_in =
        by_ != nullptr && database_.engine != nullptr && by_->life() == life_ && by_->is_active();
    const versioning::ReadView read_view{.snapshot = snapshot_.value_or(Gsn{})};
    const CallEpochs::Call call = table_->calls().enter();
    const engine::TableDefinition* const seen =
        is_in ? table_->seen_by(by_, snapshot_ ? &read_view : nullptr)
              : table_->seen_by(nullptr, nullptr);
    return seen == nullptr ? nullptr : seen->shared_from_this();
  }
  /// The snapshot of a transaction that has one for all its calls.
  [[nodiscard]] static std::optional<Gsn> snapshot_of(const txn::Transaction* by) noexcept {
    const bool has_one = by != nullptr && txn::has_one_snapshot(by->isolation());
    return has_one ? std::optional(by->read_view()->snapshot) : std::nullopt;
  }
  [[nodiscard]] InTransaction in_none() const;
  [[nodiscard]] TransactionState& own(const Transaction& in) const;

  DatabaseState& database_;
  engine::TablePtr table_;
  const engine::DefinitionPtr first_;
  const txn::Transaction* by_;
  std::uint64_t life_;           ///< of by_; by now, its slot may have another transaction
  std::optional<Gsn> snapshot_;  ///< of by_, if it has one for all its calls
};

/// Throws invalid_argument: "the `what` was moved away".
[[noreturn]] void refuse_moved_away(std::string_view what);
/// The handle behind a Table or an Index. Throws invalid_argument if it was moved from, or in a
/// child of the process that made it.
[[nodiscard]] inline const TableHandle& require_handle(const TableHandle* handle,
                                                       std::string_view what = "table") {
  if (handle == nullptr) [[unlikely]] {
    refuse_moved_away(what);
  }
  handle->database().require_own_process();
  return *handle;
}
[[nodiscard]] inline const TableHandle& require_handle(
    const std::shared_ptr<const TableHandle>& handle, std::string_view what = "table") {
  return require_handle(handle.get(), what);
}

/// Nothing if `by` (null: a transaction that begins now) sees no such table.
[[nodiscard]] std::optional<Table> find_table(DatabaseState& database, std::string_view name,
                                              const txn::Transaction* by);
/// Throws not_found.
[[nodiscard]] Table require_table(DatabaseState& database, std::string_view name,
                                  const txn::Transaction* by);

}  // namespace palimpsest::detail
