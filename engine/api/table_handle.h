// What a Table of the public API is: one table of one database.
#pragma once

#include <string_view>

#include "palimpsest/table.h"

#include "engine/api/database_state.h"
#include "engine/definitions/table_catalog.h"

namespace palimpsest::detail {

class TableHandle {
 public:
  TableHandle(DatabaseState& database, engine::TablePtr table,
              const engine::TableDefinition& definition) noexcept
      : database_(database), table_(std::move(table)), first_(definition) {}

  [[nodiscard]] DatabaseState& database() const noexcept { return database_; }
  [[nodiscard]] const engine::TableState& table() const noexcept { return *table_; }
  /// What counts now; for a table that was dropped, or does not count yet, what it was when the
  /// handle was made.
  [[nodiscard]] const engine::TableDefinition& definition() const noexcept {
    const engine::TableDefinition* const now = table_->visible_to(nullptr);
    return now != nullptr ? *now : first_;
  }
  [[nodiscard]] const TableFormat& format() const noexcept { return *definition().format; }

  /// The engine's transaction for a read; null for null. Throws invalid_argument if it has ended or
  /// is another database's.
  [[nodiscard]] txn::Transaction* reader(const Transaction* in) const;
  /// The same for a write. Also throws invalid_argument if it was begun to read.
  [[nodiscard]] txn::Transaction* writer(const Transaction* in) const;

 private:
  DatabaseState& database_;
  engine::TablePtr table_;
  const engine::TableDefinition& first_;  ///< kept by the table
};

/// Nothing if `by`, or nobody, sees such a table.
[[nodiscard]] std::optional<Table> find_table(DatabaseState& database, std::string_view name,
                                              const txn::Transaction* by);
/// Throws not_found.
[[nodiscard]] Table require_table(DatabaseState& database, std::string_view name,
                                  const txn::Transaction* by);

}  // namespace palimpsest::detail
