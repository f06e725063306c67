// The operations that the threads of bulk_bench repeat: scan a table, read its rows by key, update
// all of them, or update single rows of another table.
//
// Readers verify what they read: a read by key, that it is the right row; a scan, that no row is
// missing, and that rows updated together have been updated equally often.
// Thread-safety: each call belongs to a thread, and ends soon after `stopping` was set.
// Failure: std::runtime_error for wrong rows; Error of the database.
#pragma once

#include <atomic>
#include <cstdint>

#include "palimpsest/database.h"
#include "palimpsest/table.h"

#include "experiments/bulk/tally.h"

namespace palimpsest::experiments::bulk {

/// Rows of a transaction, for regular transactions.
inline constexpr std::uint64_t kRowsOfTransaction = 1000;

/// A table whose rows are numbered from 0.
struct NumberedTable {
  Table table;
  std::uint64_t rows = 0;
};

void read_by_key(const NumberedTable& at, std::uint64_t seed, const std::atomic<bool>& stopping,
                 Tally& tally);

/// Full scans, a read-only transaction each. Groups of `updated_together` rows, beginning at
/// multiples of that number, are updated together.
void scan(Database& database, const NumberedTable& at, std::uint64_t updated_together,
          const std::atomic<bool>& stopping, Tally& tally);

/// Single rows, a regular transaction each, that commits asynchronously.
void update_single_rows(Database& database, const NumberedTable& at, std::uint64_t seed,
                        const std::atomic<bool>& stopping, Tally& tally);

/// Updates all rows, from the first to the last, in one bulk or in regular transactions that commit
/// asynchronously. A bulk that meets a conflict begins again.
class Updater {
 public:
  Updater(Database& database, NumberedTable at, bool in_bulk);

  /// As above, once. False if it was stopped before the end.
  bool update(const std::atomic<bool>& stopping, Tally& tally);

 private:
  bool update_in_bulk(const std::atomic<bool>& stopping, Tally& tally);
  bool attempt_bulk(const std::atomic<bool>& stopping, Tally& tally, std::int64_t& rows);
  bool update_in_transactions(const std::atomic<bool>& stopping, Tally& tally);
  void update_row(Transaction& in, std::uint64_t number) const;

  Database& database_;
  const NumberedTable at_;
  const Column<std::int64_t> column_;
  const bool in_bulk_;
  std::int64_t round_ = 0;
};

}  // namespace palimpsest::experiments::bulk
