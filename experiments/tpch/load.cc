#include "experiments/tpch/load.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/table_of.h"

#include "experiments/common/crew.h"
#include "experiments/common/flag_checks.h"
#include "experiments/common/process_stats.h"
#include "experiments/tpch/generate.h"
#include "experiments/tpch/population.h"
#include "experiments/tpch/schemas.h"

namespace palimpsest::experiments::tpch {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Rows of a transaction that is not a whole table: orders count with their lines.
constexpr std::uint64_t kRowsOfTransaction = 10'000;
constexpr std::uint64_t kOrdersOfTransaction = kRowsOfTransaction / 5;

/// The rows that one transaction inserts, by their numbers.
struct Task {
  TableId table = TableId::region;
  bool with_lines = false;  ///< of orders: their lines, too
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

std::vector<Task> make_tasks(const Scale& scale, bool whole_tables) {
  std::vector<Task> tasks;
  // The largest first: then the threads end together.
  for (std::size_t i = kTables.size(); i-- > 0;) {
    const TableId table = kTables[i];
    const std::uint64_t numbers = table == TableId::lineitem ? scale.orders() : scale.rows(table);
    if (whole_tables) {
      tasks.push_back({.table = table, .first = 0, .end = numbers});
      continue;
    }
    if (table == TableId::lineitem) {
      continue;  // with the orders
    }
    const bool with_lines = table == TableId::orders;
    const std::uint64_t size = with_lines ? kOrdersOfTransaction : kRowsOfTransaction;
    for (std::uint64_t first = 0; first < numbers; first += size) {
      tasks.push_back({.table = table,
                       .with_lines = with_lines,
                       .first = first,
                       .end = std::min(numbers, first + size)});
    }
  }
  return tasks;
}

/// Time that a thread spends in the engine, beside making rows.
class Stopwatch {
 public:
  template <class Body>
  void time(const Body& body) {
    const Clock::time_point begin = Clock::now();
    body();
    spent_ += Clock::now() - begin;
  }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(spent_).count(); }

 private:
  Clock::duration spent_{};
};

/// Collects rows and inserts many at once. The rows' texts keep their memory.
template <class Row>
class Batch {
 public:
  /// Empties it, for rows of this transaction.
  void begin(const TableOf<Row>& table, Transaction& in) {
    table_ = &table;
    in_ = &in;
    size_ = 0;
  }
  /// The row to fill next.
  [[nodiscard]] Row& next(Stopwatch& watch) {
    if (size_ == rows_.size()) {
      insert(watch);
    }
    return rows_[size_++];
  }
  void insert(Stopwatch& watch) {
    if (size_ != 0) {
      watch.time([&] { table_->insert_many(*in_, std::span(rows_).first(size_)).require(); });
      size_ = 0;
    }
  }

 private:
  static constexpr std::size_t kRows = 500;

  const TableOf<Row>* table_ = nullptr;
  Transaction* in_ = nullptr;
  std::vector<Row> rows_{kRows};
  std::size_t size_ = 0;
};

/// The state of one inserting thread. It belongs to that thread.
class Inserter {
 public:
  /// `rows` counts those of all threads, for the display.
  Inserter(const Population& population, const Tables& tables, std::atomic<std::uint64_t>& rows)
      : population_(population), tables_(tables), rows_(rows) {}

  /// Inserts the task's rows; returns their number.
  std::uint64_t insert(const Task& task, Transaction& in) {
    switch (task.table) {
      case TableId::region: return insert(tables_.region, task, in);
      case TableId::nation: return insert(tables_.nation, task, in);
      case TableId::supplier: return insert(tables_.supplier, task, in);
      case TableId::customer: return insert(tables_.customer, task, in);
      case TableId::part: return insert(tables_.part, task, in);
      case TableId::partsupp: return insert(tables_.partsupp, task, in);
      case TableId::orders: return insert_orders(task, true, task.with_lines, in);
      case TableId::lineitem: return insert_orders(task, false, true, in);
    }
    return 0;
  }

  void commit(Transaction& transaction) {
    watch_.time([&] { transaction.commit(); });
  }

  [[nodiscard]] double seconds() const { return watch_.seconds(); }

 private:
  template <class Row>
  std::uint64_t insert(const TableOf<Row>& table, const Task& task, Transaction& in) {
    Batch<Row> batch;
    batch.begin(table, in);
    for (std::uint64_t number = task.first; number < task.end; ++number) {
      population_.make(number, batch.next(watch_));
      rows_.fetch_add(1, std::memory_order_relaxed);
    }
    batch.insert(watch_);
    return task.end - task.first;
  }

  std::uint64_t insert_orders(const Task& task, bool heads, bool lines, Transaction& in) {
    orders_.begin(tables_.orders, in);
    lines_.begin(tables_.lineitem, in);
    std::uint64_t rows = 0;
    for (std::uint64_t number = task.first; number < task.end; ++number) {
      population_.make(number, order_);
      const std::uint64_t before = rows;
      if (heads) {
        orders_.next(watch_) = order_.row;
        ++rows;
      }
      if (lines) {
        for (const LineItemRow& line : order_.lines()) {
          lines_.next(watch_) = line;
        }
        rows += order_.line_count;
      }
      rows_.fetch_add(rows - before, std::memory_order_relaxed);
    }
    orders_.insert(watch_);
    lines_.insert(watch_);
    return rows;
  }

  const Population& population_;
  const Tables& tables_;
  std::atomic<std::uint64_t>& rows_;
  Stopwatch watch_;
  Order order_{};
  Batch<OrderRow> orders_{};
  Batch<LineItemRow> lines_{};
};

class Load {
 public:
  Load(const LoadOptions& options, Database& database)
      : options_(options),
        database_(database),
        population_(options.seed, options.scale),
        tables_(database),
        tasks_(make_tasks(options.scale, whole_tables())) {}

  /// The work of one thread.
  void work(const std::atomic<bool>& stopping) {
    Inserter inserter(population_, tables_, rows_);
    while (!stopping.load()) {
      const std::size_t next = next_task_.fetch_add(1);
      if (next >= tasks_.size()) {
        break;
      }
      committed_.fetch_add(whole_tables() ? insert_table(tasks_[next], inserter)
                                          : insert_some(tasks_[next], inserter));
    }
    insert_seconds_.fetch_add(inserter.seconds());
  }

  /// Inserted, though not necessarily committed.
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_.load(); }
  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_.load(); }
  /// Of threads that have ended without an error.
  [[nodiscard]] double insert_seconds() const noexcept { return insert_seconds_.load(); }

 private:
  [[nodiscard]] bool whole_tables() const noexcept {
    return options_.single_transaction || options_.mode == LoadMode::bulk;
  }

  [[nodiscard]] TransactionOptions transaction_options(Durability durability) const noexcept {
    TransactionOptions options{.durability = durability};
    switch (options_.mode) {
      case LoadMode::none: options.isolation = Isolation::none; break;
      case LoadMode::snapshot: options.isolation = Isolation::snapshot; break;
      case LoadMode::bulk: options.bulk = true; break;
    }
    return options;
  }

  /// One attempt: if it is too large, another one would fail in the same way.
  std::uint64_t insert_table(const Task& task, Inserter& inserter) {
    Transaction transaction = database_.begin(transaction_options(Durability::synchronous));
    const std::uint64_t rows = inserter.insert(task, transaction);
    inserter.commit(transaction);
    return rows;
  }

  std::uint64_t insert_some(const Task& task, Inserter& inserter) {
    const auto insert = [&](Transaction& transaction) {
      const std::uint64_t rows = inserter.insert(task, transaction);
      inserter.commit(transaction);
      return rows;
    };
    return database_.run(insert, {.transaction = transaction_options(Durability::asynchronous)});
  }

  const LoadOptions& options_;
  Database& database_;
  const Population population_;
  const Tables tables_;
  const std::vector<Task> tasks_;
  std::atomic<std::size_t> next_task_{0};
  std::atomic<std::uint64_t> rows_{0};
  std::atomic<std::uint64_t> committed_{0};
  std::atomic<double> insert_seconds_{0};
};

std::string text_of(const Error& error) {
  return fmt::format("{}: {}", name_of(error.code()), error.what());
}

std::uint64_t rows_of(const Scale& scale) {
  std::uint64_t rows = 0;
  for (const TableId table : kTables) {
    rows += scale.rows(table);
  }
  return rows;
}

void sample(const Database& database, LoadResult& result) {
  const Statistics now = database.statistics();
  result.version_bytes_max = std::max(result.version_bytes_max, now.version_bytes);
  result.entry_bytes_max = std::max(result.entry_bytes_max, now.entry_bytes);
}

void run(const LoadOptions& options, Database& database, ProgressDisplay& display,
         LoadResult& result) {
  constexpr std::chrono::milliseconds kSample{10};
  constexpr unsigned kSamplesOfStep = 10;  // of the display, and of the kernel's counters
  Load load(options, database);
  Crew crew(options.threads, [&](Crew& all, std::uint32_t) {
    all.start_together();
    load.work(all.stopping());
  });
  const Clock::time_point begin = Clock::now();
  std::uint64_t total = rows_of(options.scale);
  const auto progress = [&] {
    return Progress{.what = "loading",
                    .unit = "rows",
                    .done = load.rows(),
                    .total = total,
                    .seconds = seconds_since(begin)};
  };
  crew.go();
  for (unsigned samples = 0; !crew.wait_for_end(Clock::now() + kSample); ++samples) {
    sample(database, result);
    if (samples % kSamplesOfStep == 0) {
      result.resident_bytes_max =
          std::max(result.resident_bytes_max, read_process_stats().resident_bytes);
      display.bar(progress());
    }
  }
  try {
    crew.join();
  } catch (const Error& error) {
    result.error = text_of(error);
  }
  result.seconds = seconds_since(begin);
  result.rows = load.committed();
  result.insert_seconds = load.insert_seconds();
  if (result.error.empty()) {
    total = result.rows;  // now known exactly
  }
  display.end_bar(progress());
}

}  // namespace

std::string_view name_of(LoadMode mode) noexcept {
  switch (mode) {
    case LoadMode::none: return "none";
    case LoadMode::snapshot: return "snapshot";
    case LoadMode::bulk: return "bulk";
  }
  return "unknown";
}

LoadResult load(const LoadOptions& options, ProgressDisplay& display) {
  std::uint64_t tbl_bytes = 0;
  for (const TableId table : kTables) {
    tbl_bytes += options.scale.tbl_bytes(table);
  }
  // Fixed texts take more than in a .tbl file, pages are not full, and there is a log.
  require_space(options.directory, 2 * tbl_bytes);
  Database database =
      Database::open(options.directory, {.memory_bytes = options.memory_bytes,
                                         .version_bytes_max = options.version_bytes_max,
                                         .must_be_new = true,
                                         .log_bytes_max = options.log_bytes_max});
  for (const TableId table : kTables) {
    database.create_table(schema_of(table));
  }
  LoadResult result;
  run(options, database, display, result);
  sample(database, result);
  const Clock::time_point closing = Clock::now();
  result.log_bytes = database.statistics().log_bytes;
  result.data_bytes = database.statistics().data_bytes;
  result.resident_bytes_max =
      std::max(result.resident_bytes_max, read_process_stats().resident_bytes);
  try {
    database.close();
  } catch (const Error& error) {
    if (result.error.empty()) {
      result.error = text_of(error);
    }
  }
  result.close_seconds = seconds_since(closing);
  return result;
}

}  // namespace palimpsest::experiments::tpch
