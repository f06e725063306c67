#include "tools/load/directory_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/byte_source.h"
#include "tools/load/decoded_source.h"
#include "tools/load/fault.h"
#include "tools/load/schema_text.h"
#include "tools/load/tables_together.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

void add(Reached& all, const Reached& one) {
  all.bytes_taken += one.bytes_taken;
  all.rows += one.rows;
  all.faults += one.faults;
  all.stages += one.stages;
}

class DirectoryLoad {
 public:
  DirectoryLoad(const DirectoryLoadOptions& options, DirectoryCounters& counters,
                const std::function<void(const DumpedTable&, bool was_there)>& done)
      : options_(options),
        counters_(counters),
        done_(done),
        threads_(options.threads != 0 ? options.threads
                                      : std::max(std::thread::hardware_concurrency(), 1U)),
        slots_(threads_) {}

  DirectoryLoadResult run() {
    const auto begin = std::chrono::steady_clock::now();
    check_memory();
    read_tables();
    open_database();
    leave_out_tables_there();
    const auto work = [this](std::size_t table) { load(tables_[table]); };
    at_a_time_ = tables_at_a_time();
    require_all(work_together(tables_.size(), at_a_time_, work), names(), "loaded", "");
    counters_.commit = CommitState::done;
    close();
    const Reached all = counters_.reached();
    result_.rows = all.rows;
    result_.bytes = all.bytes_taken;
    result_.stages = all.stages;
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result_;
  }

 private:
  void check_memory() const {
    if (options_.memory_bytes != 0 && options_.memory_bytes < LoadOptions::kMemoryBytesMin) {
      throw UsageError(fmt::format("{} bytes of memory: at least {} are needed",
                                   options_.memory_bytes, LoadOptions::kMemoryBytesMin));
    }
  }

  /// The largest files first: none of them is begun when all small ones have ended.
  void read_tables() {
    DumpManifest manifest = read_manifest(options_.directory);
    if (!manifest.complete) {
      throw UsageError(
          fmt::format("{}: the dump is not complete: dump --directory --resume goes on with it",
                      options_.directory.string()));
    }
    tables_ = std::move(manifest.tables);
    std::ranges::sort(tables_, [&](const DumpedTable& one, const DumpedTable& other) {
      const auto bytes = bytes_of(one);
      const auto others = bytes_of(other);
      return bytes != others ? bytes > others : one.file < other.file;
    });
  }
  [[nodiscard]] std::string path_of(const DumpedTable& table) const {
    return (options_.directory / table.file).string();
  }
  [[nodiscard]] std::uint64_t bytes_of(const DumpedTable& table) const {
    return file_bytes(path_of(table)).value_or(0);
  }

  /// Half of the memory is the database's.
  void open_database() {
    const Options options{.memory_bytes = options_.memory_bytes / 2};
    database_ = find_database(options_.database, options);
    if (!database_) {
      database_ = make_database(options_.database, options);
    }
  }

  void leave_out_tables_there() {
    std::erase_if(tables_, [&](const DumpedTable& table) {
      const bool was_there = is_there(table);
      if (was_there) {
        ++result_.tables_there;
        ++counters_.tables_there;
        done_(table, true);
      }
      return was_there;
    });
    std::uint64_t bytes = 0;
    for (const DumpedTable& table : tables_) {
      bytes += bytes_of(table);
    }
    counters_.bytes_total = bytes;
  }

  /// Whether the table is there, as it was dumped.
  [[nodiscard]] bool is_there(const DumpedTable& dumped) const {
    const auto table = database_->find_table(dumped.name);
    if (!table) {
      return false;
    }
    if (!options_.resume) {
      throw UsageError(fmt::format(
          "table {} is there: --resume leaves it as it is, if it is that of the dump, and loads "
          "those that are missing",
          in_quotes(dumped.name)));
    }
    const std::string schema =
        text_of(TableText{.table = table->schema(), .indexes = table->indexes()});
    const std::uint64_t rows = table->count();
    if (schema != dumped.schema || rows != dumped.rows) {
      throw UsageError(
          fmt::format("table {} is there, and is not that of the dump: it has {} rows and "
                      "the schema {}",
                      in_quotes(dumped.name), rows, schema));
    }
    return true;
  }

  /// No more than have memory for their rows.
  [[nodiscard]] std::size_t tables_at_a_time() const {
    const std::size_t wanted = std::clamp<std::size_t>(tables_.size(), 1, threads_);
    return options_.memory_bytes == 0
               ? wanted
               : std::min<std::size_t>(wanted,
                                       options_.memory_bytes / LoadOptions::kMemoryBytesMin);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const DumpedTable& table : tables_) {
      names.push_back(table.name);
    }
    return names;
  }

  [[nodiscard]] LoadOptions options_of(const DumpedTable& table) const {
    const bool is_json = table.format == Format::jsonl || table.format == Format::json;
    Dialect dialect = Dialect::of(table.format);
    dialect.checks_utf8 = false;  // what was in a table is in it again
    LoadOptions load;
    load.database = options_.database;
    load.table = table.name;
    load.files = {path_of(table)};
    load.schema = table.schema;
    load.input.encoding = kAnyBytes;
    load.dialect = dialect;
    load.told = {.format = true, .delimiter = true, .quote = true};
    load.header = is_json ? Header::off : Header::match;
    load.requires_new_table = true;
    load.checks_space = options_.checks_space;
    load.threads = threads_;
    load.memory_bytes = options_.memory_bytes / at_a_time_;
    load.expected_rows = table.rows;
    return load;
  }

  void load(const DumpedTable& table) {
    LoadsTogether together{.database = *database_, .slots = slots_};
    DirectoryCounters::OfTable counted(counters_);
    const LoadOptions options = options_of(table);
    try {
      const LoadResult result = run_load(options, counted.counters(), together);
      if (result.too_many_faults) {
        throw Error(ErrorCode::corruption, fmt::format("{}: {}", options.files[0],
                                                       result.first_unshown.empty()
                                                           ? "its records are not those of the dump"
                                                           : result.first_unshown));
      }
    } catch (...) {
      if (counted.counters().commit == CommitState::unknown) {
        counters_.commit = CommitState::unknown;
      }
      throw;
    }
    const std::lock_guard lock(mutex_);
    ++result_.tables;
    ++counters_.tables_there;
    done_(table, false);
  }

  void close() {
    try {
      database_->close();
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("{}; the database was not closed cleanly, and is recovered when it "
                              "is opened again",
                              error.what()));
    }
  }

  const DirectoryLoadOptions& options_;
  DirectoryCounters& counters_;
  const std::function<void(const DumpedTable&, bool was_there)>& done_;
  const std::size_t threads_;
  ParseSlots slots_;
  std::optional<Database> database_{};
  std::vector<DumpedTable> tables_{};
  std::size_t at_a_time_ = 1;
  std::mutex mutex_{};  ///< of the result, and of done_
  DirectoryLoadResult result_{};
};

}  // namespace

Reached DirectoryCounters::reached() const {
  const std::lock_guard lock(mutex_);
  Reached all = ended_;
  for (const Counters* counters : under_way_) {
    add(all, counters->reached());
  }
  all.bytes_total = bytes_total;
  all.phase = under_way_.empty() ? Phase::opening : Phase::rows;
  return all;
}

DirectoryCounters::OfTable::OfTable(DirectoryCounters& all) : all_(all) {
  const std::lock_guard lock(all_.mutex_);
  all_.under_way_.push_back(&counters_);
}

DirectoryCounters::OfTable::~OfTable() {
  const std::lock_guard lock(all_.mutex_);
  std::erase(all_.under_way_, &counters_);
  add(all_.ended_, counters_.reached());
}

DirectoryLoadResult load_directory(
    const DirectoryLoadOptions& options, DirectoryCounters& counters,
    const std::function<void(const DumpedTable&, bool was_there)>& done) {
  return DirectoryLoad(options, counters, done).run();
}

}  // namespace palimpsest::load
