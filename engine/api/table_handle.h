// What a Table of the public API is: one table of one database.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "palimpsest/table.h"

#include "engine/api/database_state.h"
#include "engine/api/transaction_state.h"
#include "engine/catalog/table_catalog.h"

namespace palimpsest::detail {

class TableHandle {
 public:
  /// `by`: the transaction that asked for it; null: nobody's.
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
  /// What its rows are read by: by the transaction that has asked for the handle, until it ends,
  /// else by who begins now. Of a table that was dropped, or does not count yet, what it was when
  /// the handle was made; of a database that was closed, what was committed then.
  [[nodiscard]] engine::DefinitionPtr definition() const noexcept {
    engine::DefinitionPtr now = visible_definition();
    return now != nullptr ? std::move(now) : first_;
  }
  /// The same; throws not_found if there is none, invalid_argument if the database was closed.
  [[nodiscard]] engine::DefinitionPtr require_definition() const;
  [[nodiscard]] std::shared_ptr<const TableFormat> format() const noexcept {
    return definition()->format;
  }
  /// What it was when the handle was made, and in most cases still is: the handle keeps that, so
  /// that calls need not.
  [[nodiscard]] const engine::TableDefinition& first() const noexcept { return *first_; }

  /// Throws invalid_argument if the database was closed.
  void require_open() const;
  /// For a read. Throws invalid_argument if the transaction has ended or is another database's, or
  /// the database was closed.
  [[nodiscard]] InTransaction reader(const Transaction* in) const;
  /// For a write. Also throws invalid_argument if it was begun, or the database opened, to be read.
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
  /// Of a transaction that has one for all its calls.
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
  std::uint64_t life_;           ///< of by_, which may be another transaction by now
  std::optional<Gsn> snapshot_;  ///< of by_, if it has one for all its calls
};

/// Throws invalid_argument: "the `what` was moved away".
[[noreturn]] void refuse_moved_away(std::string_view what);
/// What a Table or an Index leads to. Throws invalid_argument if it was moved from, or in a child
/// of the process that made it.
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

/// Nothing if `by`, or nobody, sees such a table.
[[nodiscard]] std::optional<Table> find_table(DatabaseState& database, std::string_view name,
                                              const txn::Transaction* by);
/// Throws not_found.
[[nodiscard]] Table require_table(DatabaseState& database, std::string_view name,
                                  const txn::Transaction* by);

}  // namespace palimpsest::detail
