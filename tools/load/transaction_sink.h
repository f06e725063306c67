// Rows of a load as inserts of one bulk transaction, of any size, which also makes the table if it
// is new.
//
// Indexes of a new table are made before its rows: what a row has that an index does not take is
// then noticed at that row.
// Thread-safety and failure: row_sink.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "palimpsest/database.h"

#include "tools/load/row_sink.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load {

class TransactionSink : public RowSink {
 public:
  /// Of an existing table; with `to_make`, of one that is made. All outlive the sink.
  TransactionSink(Database& database, const TableText& table, bool to_make,
                  OnDuplicate on_duplicate);

  Put put(std::span<const Value> row) override;
  void finish() override;

 private:
  [[nodiscard]] Put put_duplicate(const Outcome& outcome, std::span<const Value> row);
  [[nodiscard]] Put refuse_duplicate(const Outcome& outcome) const;

  const TableText& definition_;
  OnDuplicate on_duplicate_;
  Transaction transaction_;
  std::optional<Table> table_{};
};

}  // namespace palimpsest::load
