#include "experiments/bulk/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "palimpsest/database.h"

#include "experiments/bulk/rows.h"
#include "experiments/bulk/table.h"
#include "experiments/common/median.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments::bulk {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kSchemaVersion = 1;
constexpr std::uint64_t kRowsOfTransaction = 1000;
constexpr std::chrono::seconds kQuietPatience{60};
constexpr std::chrono::milliseconds kQuietPause{5};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Scans {
 public:
  Scans(const ScanOptions& options, Database& database, Table table)
      : options_(options),
        database_(database),
        table_(std::move(table)),
        number_(table_.column<std::int64_t>("number")),
        round_(table_.column<std::int64_t>("round")) {}

  void run(ScanResult& result) {
    for (std::uint32_t round = 0; round < options_.rounds; ++round) {
      wait_until_quiet();
      static_cast<void>(scan_at(Isolation::snapshot, round));  // the first scan finds cold caches
      scan_unversioned(round, result);
      Transaction held = database_.begin({.isolation = Isolation::snapshot, .read_only = true});
      change_rows();
      const Statistics now = database_.statistics();
      result.version_bytes_max = std::max(result.version_bytes_max, now.version_bytes);
      result.entries_max = std::max(result.entries_max, now.entries);
      keep(result, Scan::beside_versions, scan_at(Isolation::snapshot, round + 1));
      keep(result, Scan::old_reader, scan(held, round));
      held.commit();
    }
  }

 private:
  static void keep(ScanResult& result, Scan kind, double seconds) {
    result.seconds[static_cast<std::size_t>(kind)].push_back(seconds);
  }

  /// The two alternate in coming first.
  void scan_unversioned(std::uint32_t round, ScanResult& result) {
    for (const bool is_second : {false, true}) {
      const bool isolated = is_second == (round % 2 == 0);
      keep(result, isolated ? Scan::snapshot : Scan::none,
           scan_at(isolated ? Isolation::snapshot : Isolation::none, round));
    }
  }

  double scan_at(Isolation isolation, std::uint32_t rounds) {
    Transaction reader = database_.begin({.isolation = isolation, .read_only = true});
    const double seconds = scan(reader, rounds);
    reader.commit();
    return seconds;
  }

  /// A scan by a reader that sees the changes of so many rounds.
  double scan(const Transaction& reader, std::uint32_t rounds) {
    std::int64_t rows = 0;
    std::int64_t changes = 0;
    bool in_order = true;
    const Clock::time_point begin = Clock::now();
    table_.visit(reader, Range::all(), [&](const RowView& row) {
      in_order = in_order && row.get(number_) == rows;
      changes += row.get(round_);
      ++rows;
      return true;
    });
    const double seconds = seconds_since(begin);
    if (!in_order || std::cmp_not_equal(rows, options_.rows) ||
        std::cmp_not_equal(changes, rounds * changed_rows())) {
      throw std::runtime_error(fmt::format(
          "a scan after {} rounds returned {} rows with {} changes", rounds, rows, changes));
    }
    return seconds;
  }

  [[nodiscard]] std::uint64_t changed_rows() const noexcept {
    return (options_.rows + (options_.changed_one_in - 1)) / options_.changed_one_in;
  }

  void change_rows() {
    for (std::uint64_t first = 0; first < changed_rows(); first += kRowsOfTransaction) {
      Transaction writer = database_.begin({.durability = Durability::asynchronous});
      const std::uint64_t end = std::min(changed_rows(), first + kRowsOfTransaction);
      for (std::uint64_t changed = first; changed < end; ++changed) {
        const auto id = static_cast<std::int64_t>(changed * options_.changed_one_in);
        table_.modify(writer, {id}, [&](RowEditor& row) { row.set(round_, row.get(round_) + 1); })
            .require();
      }
      writer.commit();
    }
  }

  /// Waits until the engine has freed all versions and entries of the rows. Entries that belong to
  /// no page may be left: writers keep some for their next rows.
  void wait_until_quiet() {
    const Clock::time_point begin = Clock::now();
    for (Statistics now = database_.statistics(); now.mapping_tables != 0;
         now = database_.statistics()) {
      if (Clock::now() - begin > kQuietPatience) {
        throw std::runtime_error(fmt::format(
            "{} mapping tables with {} entries at most are left, and no reader needs them",
            now.mapping_tables, now.entries));
      }
      std::this_thread::sleep_for(kQuietPause);
    }
  }

  const ScanOptions& options_;
  Database& database_;
  const Table table_;
  const Column<std::int64_t> number_;
  const Column<std::int64_t> round_;
};

}  // namespace

std::string_view name_of(Scan scan) noexcept {
  switch (scan) {
    case Scan::none: return "none";
    case Scan::snapshot: return "snapshot";
    case Scan::beside_versions: return "beside_versions";
    case Scan::old_reader: return "old_reader";
  }
  return "unknown";
}

ScanResult run_scans(const ScanOptions& options) {
  Database database = Database::open(options.directory, {.memory_bytes = options.memory_bytes,
                                                         .durability = Durability::asynchronous});
  ScanResult result;
  const Clock::time_point begin = Clock::now();
  const Table table = make_table(database, "scanned", options.rows);
  result.load_seconds = seconds_since(begin);
  Scans(options, database, table).run(result);
  return result;
}

std::string summary(const ScanOptions& options, const ScanResult& result) {
  std::string text = fmt::format("{} rows, one in {} changed, {} rounds\n", options.rows,
                                 options.changed_one_in, options.rounds);
  for (std::size_t kind = 0; kind < kScans; ++kind) {
    const double seconds = median_of(result.seconds[kind]);
    text += fmt::format("  {:16} {:6.1f} ns a row (median)\n", name_of(static_cast<Scan>(kind)),
                        1e9 * seconds / static_cast<double>(options.rows));
  }
  return text;
}

json to_json(const ScanOptions& options, const ScanResult& result, const HostInfo& host) {
  json object = {{"benchmark", "scan_bench"},
                 {"schema_version", kSchemaVersion},
                 {"engine", "palimpsest"},
                 {"records", options.rows},
                 {"row_bytes", kRowBytes},
                 {"changed_one_in", options.changed_one_in},
                 {"rounds", options.rounds},
                 {"memory_bytes", options.memory_bytes},
                 {"load_seconds", result.load_seconds},
                 {"version_bytes_max", result.version_bytes_max},
                 {"entries_max", result.entries_max},
                 {"seconds", json::object()}};
  for (std::size_t kind = 0; kind < kScans; ++kind) {
    object["seconds"][std::string(name_of(static_cast<Scan>(kind)))] = result.seconds[kind];
  }
  add_host(object, host);
  return object;
}

}  // namespace palimpsest::experiments::bulk
