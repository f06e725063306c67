// The engines of range_bench: a table, changed by one bulk or by regular transactions.
// Regular transactions commit asynchronously except the last, which is durable only when all
// earlier ones are.
//
// Space: pages of erased rows come back in the background, which reclaim() waits for: until the log
// has not grown for 300 ms. `palimpsest check` counts the free pages of a closed database.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>

#include "palimpsest/database.h"

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/range_engine.h"
#include "experiments/bulk/table.h"

namespace palimpsest::experiments::bulk {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTable = "records";
constexpr std::uint64_t kRowsOfTransaction = 1000;

enum class Means : std::uint8_t { bulk = 1, keys, transactions };

Table open_table(Database& database) {
  const auto found = database.find_table(kTable);
  return found ? *found : database.create_table(schema_of(kTable));
}

class PalimpsestRange final : public RangeEngine {
 public:
  PalimpsestRange(const RangeSettings& settings, Means means)
      : means_(means),
        database_(Database::open(settings.directory, {.memory_bytes = settings.memory_bytes})),
        table_(open_table(database_)),
        rows_(rows_of(table_)) {}

  void ingest(std::uint64_t rows) override {
    if (means_ == Means::transactions) {
      in_transactions(rows, [&](Transaction& in, std::uint64_t first, std::uint64_t end) {
        insert_rows(rows_, in, first, end);
      });
      return;
    }
    Transaction bulk = database_.begin({.bulk = true});
    insert_rows(rows_, bulk, 0, rows);
    bulk.commit();
  }

  void erase_below(std::uint64_t end) override {
    if (means_ == Means::transactions) {
      in_transactions(end, [&](Transaction& in, std::uint64_t first, std::uint64_t last) {
        erase(in, first, last);
      });
      return;
    }
    Transaction bulk = database_.begin({.bulk = true});
    if (means_ == Means::keys) {
      erase_by_key(bulk, end);
    } else {
      erase(bulk, 0, end);
    }
    bulk.commit();
  }

  // The background thread looks for erased rows of transactions twice a second.
  double reclaim() override {
    constexpr std::chrono::milliseconds kQuiet{1200};
    constexpr std::chrono::seconds kLongest{120};
    constexpr std::chrono::milliseconds kLook{10};
    const Clock::time_point begin = Clock::now();
    Clock::time_point changed = begin;
    std::uint64_t log_bytes = database_.statistics().log_bytes;
    for (Clock::time_point now = begin; now - changed < kQuiet && now - begin < kLongest;
         now = Clock::now()) {
      std::this_thread::sleep_for(kLook);
      const std::uint64_t log_bytes_now = database_.statistics().log_bytes;
      if (log_bytes_now != log_bytes) {
        log_bytes = log_bytes_now;
        changed = Clock::now();
      }
    }
    return std::chrono::duration<double>(changed - begin).count();
  }

  FoundRows find_rows(std::uint64_t rows_max) override {
    FoundRows found;
    Row row;
    table_.visit(Range::all(), [&](const RowView& view) {
      rows_.read(view, row);
      see_row(found, static_cast<std::uint64_t>(row.id), RowValue(row).view());
      return found.rows < rows_max;
    });
    return found;
  }

  std::optional<std::uint64_t> last_row() override {
    std::optional<std::uint64_t> last;
    Row row;
    table_.visit(
        Range::all(),
        [&](const RowView& view) {
          rows_.read(view, row);
          last = static_cast<std::uint64_t>(row.id);
          return false;
        },
        Direction::backward);
    return last;
  }

  Space space() override { return {.data_bytes = database_.statistics().data_bytes}; }
  std::optional<std::uint64_t> version_bytes() const override {
    return database_.statistics().version_bytes;
  }

  std::string description() const override {
    switch (means_) {
      case Means::bulk: return "one bulk; erase_range";
      case Means::keys: return "one bulk; erased by key";
      case Means::transactions: return "regular transactions of 1000 rows; erase_range";
    }
    return "unknown";
  }

  void close() override { database_.close(); }

 private:
  template <class Change>
  void in_transactions(std::uint64_t rows, const Change& change) {
    for (std::uint64_t first = 0; first < rows; first += kRowsOfTransaction) {
      const std::uint64_t end = std::min(rows, first + kRowsOfTransaction);
      const Durability durability =
          end == rows ? Durability::synchronous : Durability::asynchronous;
      database_.run([&](Transaction& in) { change(in, first, end); },
                    {.transaction = {.durability = durability}});
    }
  }

  /// Rows [first, end).
  void erase(Transaction& in, std::uint64_t first, std::uint64_t end) const {
    const std::array from{Value(static_cast<std::int64_t>(first))};
    const std::array to{Value(static_cast<std::int64_t>(end))};
    table_
        .erase_range(in, Range::between(std::span<const Value>(from), std::span<const Value>(to),
                                        Range::Bound::inclusive, Range::Bound::exclusive))
        .require();
  }

  void erase_by_key(Transaction& in, std::uint64_t end) const {
    for (std::uint64_t number = 0; number < end; ++number) {
      table_.erase(in, {static_cast<std::int64_t>(number)}).require();
    }
  }

  const Means means_;
  Database database_;
  const Table table_;
  const TableOf<Row> rows_;
};

RangeEngineEntry entry(const char* name, Means means) {
  return {.traits = {.name = name},
          .open = [means](const RangeSettings& settings) -> std::unique_ptr<RangeEngine> {
            return std::make_unique<PalimpsestRange>(settings, means);
          }};
}

}  // namespace

// By one bulk, where a range of rows is erased by one call, or rows by their keys; by regular
// transactions of 1000 rows.
std::vector<RangeEngineEntry> known_range_engines() {
  return {entry("palimpsest_bulk", Means::bulk), entry("palimpsest_keys", Means::keys),
          entry("palimpsest_transactions", Means::transactions)};
}

}  // namespace palimpsest::experiments::bulk
