#include "experiments/bulk/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/random.h"

namespace palimpsest::experiments::bulk {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds_since(Clock::time_point begin) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

/// The rows that one scan has seen.
class ScannedRows {
 public:
  ScannedRows(const NumberedTable& at, std::uint64_t updated_together)
      : rows_(at.rows), updated_together_(updated_together) {}

  void see(std::int64_t number, std::int64_t round) noexcept {
    if (seen_ % updated_together_ == 0) {
      round_ = round;
    }
    sound_ = sound_ && std::cmp_equal(number, seen_) && round == round_;
    ++seen_;
  }
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
  /// Throws unless these were all rows, as they have to be.
  void verify() const {
    if (!sound_ || seen_ != rows_) {
      throw std::runtime_error(
          fmt::format("a scan returned {} of {} rows{}", seen_, rows_,
                      sound_ ? "" : ", out of order, or with some that were half updated"));
    }
  }

 private:
  std::uint64_t rows_;
  std::uint64_t updated_together_;
  std::uint64_t seen_ = 0;
  std::int64_t round_ = 0;
  bool sound_ = true;
};

/// Without a limit: failed attempts are counted, and do not end the run.
RunOptions always(const TransactionOptions& transaction) {
  return {.transaction = transaction, .attempts_max = std::numeric_limits<unsigned>::max()};
}

/// Whether a bulk that met this error may begin again.
bool gives_way(const Error& error) {
  return error.code() == ErrorCode::conflict || error.code() == ErrorCode::gate_timeout ||
         error.code() == ErrorCode::too_many_transactions;
}

}  // namespace

void read_by_key(const NumberedTable& at, std::uint64_t seed, const std::atomic<bool>& stopping,
                 Tally& tally) {
  const Column<std::int64_t> number = at.table.column<std::int64_t>("number");
  Random random(seed);
  while (!stopping.load(std::memory_order_relaxed)) {
    const auto id = static_cast<std::int64_t>(random.below(at.rows));
    std::int64_t found = -1;
    const Clock::time_point begin = Clock::now();
    static_cast<void>(at.table.read({id}, [&](const RowView& row) { found = row.get(number); }));
    tally.record(nanoseconds_since(begin));
    tally.add_rows(1);
    if (found != id) {
      throw std::runtime_error(fmt::format("row {} is missing", id));
    }
  }
}

void scan(Database& database, const NumberedTable& at, std::uint64_t updated_together,
          const std::atomic<bool>& stopping, Tally& tally) {
  constexpr std::int64_t kRowsCounted = 1000;  // at a time, so that a running scan counts
  const Column<std::int64_t> number = at.table.column<std::int64_t>("number");
  const Column<std::int64_t> round = at.table.column<std::int64_t>("round");
  while (!stopping.load()) {
    const Clock::time_point begin = Clock::now();
    bool again = false;
    std::int64_t counted = 0;
    const auto once = [&](const Transaction& in) {
      if (std::exchange(again, true)) {
        tally.restart(std::exchange(counted, 0));
      }
      ScannedRows scanned(at, updated_together);
      at.table.visit(in, Range::all(), [&](const RowView& row) {
        scanned.see(row.get(number), row.get(round));
        if (scanned.seen() % kRowsCounted == 0) {
          tally.add_rows(kRowsCounted);
          counted += kRowsCounted;
          return !stopping.load(std::memory_order_relaxed);
        }
        return true;
      });
      if (!stopping.load()) {
        scanned.verify();
        tally.add_rows(static_cast<std::int64_t>(scanned.seen()) - counted);
        tally.record(nanoseconds_since(begin));
      }
    };
    database.run(once, always({.read_only = true}));
  }
}

void update_single_rows(Database& database, const NumberedTable& at, std::uint64_t seed,
                        const std::atomic<bool>& stopping, Tally& tally) {
  const Column<std::int64_t> round = at.table.column<std::int64_t>("round");
  Random random(seed);
  while (!stopping.load(std::memory_order_relaxed)) {
    const auto id = static_cast<std::int64_t>(random.below(at.rows));
    bool again = false;
    const Clock::time_point begin = Clock::now();
    const auto once = [&](Transaction& in) {
      if (std::exchange(again, true)) {
        tally.restart(0);
      }
      at.table.modify(in, {id}, [&](RowEditor& row) { row.set(round, row.get(round) + 1); })
          .require();
    };
    database.run(once, always({.durability = Durability::asynchronous}));
    tally.record(nanoseconds_since(begin));
    tally.add_rows(1);
  }
}

Updater::Updater(Database& database, NumberedTable at, bool in_bulk)
    : database_(database),
      at_(std::move(at)),
      column_(at_.table.column<std::int64_t>("round")),
      in_bulk_(in_bulk) {}

bool Updater::update(const std::atomic<bool>& stopping, Tally& tally) {
  ++round_;
  const Clock::time_point begin = Clock::now();
  const bool complete =
      in_bulk_ ? update_in_bulk(stopping, tally) : update_in_transactions(stopping, tally);
  if (complete) {
    tally.record(nanoseconds_since(begin));
  }
  return complete;
}

bool Updater::update_in_bulk(const std::atomic<bool>& stopping, Tally& tally) {
  for (;;) {
    std::int64_t rows = 0;
    try {
      return attempt_bulk(stopping, tally, rows);
    } catch (const Error& error) {
      if (!gives_way(error)) {
        throw;
      }
      tally.restart(rows);
    }
  }
}

bool Updater::attempt_bulk(const std::atomic<bool>& stopping, Tally& tally, std::int64_t& rows) {
  Transaction bulk = database_.begin({.bulk = true});
  for (std::uint64_t number = 0; number < at_.rows; ++number) {
    if (stopping.load(std::memory_order_relaxed)) {
      bulk.rollback();
      return false;
    }
    update_row(bulk, number);
    tally.add_rows(1);
    ++rows;
  }
  bulk.commit();
  return true;
}

bool Updater::update_in_transactions(const std::atomic<bool>& stopping, Tally& tally) {
  for (std::uint64_t first = 0; first < at_.rows; first += kRowsOfTransaction) {
    if (stopping.load()) {
      return false;
    }
    const std::uint64_t end = std::min(at_.rows, first + kRowsOfTransaction);
    bool again = false;
    const auto once = [&](Transaction& in) {
      if (std::exchange(again, true)) {
        tally.restart(0);
      }
      for (std::uint64_t number = first; number < end; ++number) {
        update_row(in, number);
      }
    };
    database_.run(once, always({.durability = Durability::asynchronous}));
    tally.add_rows(static_cast<std::int64_t>(end - first));
  }
  return true;
}

void Updater::update_row(Transaction& in, std::uint64_t number) const {
  at_.table
      .modify(in, {static_cast<std::int64_t>(number)},
              [&](RowEditor& row) { row.set(column_, round_); })
      .require();
}

}  // namespace palimpsest::experiments::bulk
