#include "tools/load/directory_dump.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/decoded_source.h"
#include "tools/load/fault.h"
#include "tools/load/interrupt.h"
#include "tools/load/output_file.h"
#include "tools/load/output_place.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

namespace fs = std::filesystem;

/// A table's name as a file's: letters, digits, - and _ as they are, other bytes as %NN.
std::string file_name_of(std::string_view table, Format format, Compression compression) {
  std::string name;
  for (const char byte : table) {
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
    name +=
        is_plain ? std::string(1, byte) : fmt::format("%{:02x}", static_cast<unsigned char>(byte));
  }
  return fmt::format("{}.{}{}", name, name_of(format), ending_of(compression));
}

/// Of what the database's files are now: nothing is written into them while it is open to be read.
std::string state_of(const DatabasePlace& place) {
  std::vector<std::string> files;
  for (const fs::path& directory : {place.pages, place.log}) {
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
      struct stat status{};
      if (::stat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        files.push_back(fmt::format("{} {} {}.{:09}", entry.path().filename().string(),
                                    status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec));
      }
    }
  }
  std::ranges::sort(files);
  return fmt::format("{}", fmt::join(files, "; "));
}

class DirectoryDump {
 public:
  DirectoryDump(const DirectoryDumpOptions& options,
                const std::function<void(const DumpedTable&)>& done)
      : options_(options),
        done_(done),
        database_(open_to_read(options.database, options.memory_bytes)) {}

  void run() {
    make_directory();
    manifest_.state = state_of(options_.database);
    find_tables();
    take_over();
    work_together();
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    std::ranges::sort(manifest_.tables, {}, &DumpedTable::name);
    manifest_.complete = true;
    write_manifest(options_.directory, manifest_);
  }

 private:
  /// With the threads that the system allows, this one at least.
  void work_together() {
    std::vector<std::jthread> threads;
    const std::size_t wanted = std::min(options_.threads, tables_.size());
    threads.reserve(wanted);
    try {
      while (threads.size() + 1 < wanted) {
        threads.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): fewer do it all, too
    }
    work();
  }
  void make_directory() const {
    require_apart(options_.directory.string(), options_.database.pages);
    require_apart(options_.directory.string(), options_.database.log);
    std::error_code error;
    fs::create_directory(options_.directory, error);
    if (error) {
      throw Error(ErrorCode::io_error, fmt::format("{}: it cannot be made: {}",
                                                   options_.directory.string(), error.message()));
    }
    if (!options_.resume && has_manifest(options_.directory)) {
      throw UsageError(
          fmt::format("{}: a dump is there: --resume goes on with it, another directory "
                      "takes another one",
                      options_.directory.string()));
    }
  }

  void find_tables() {
    tables_ = options_.tables;
    for (const TableSchema& table : database_.tables()) {
      if (options_.tables.empty()) {
        tables_.push_back(table.name);
      }
    }
    for (const std::string& table : tables_) {
      static_cast<void>(database_.table(table));  // it is there
    }
  }

  /// What an earlier dump has completed, of the database as it is.
  void take_over() {
    if (!options_.resume || !has_manifest(options_.directory)) {
      return;
    }
    const DumpManifest earlier = read_manifest(options_.directory);
    if (earlier.state != manifest_.state) {
      throw UsageError(
          fmt::format("{}: the database has changed since that dump began: another "
                      "directory takes a new one",
                      options_.directory.string()));
    }
    for (const DumpedTable& table : earlier.tables) {
      if (std::erase(tables_, table.name) != 0) {
        manifest_.tables.push_back(table);
      }
    }
  }

  void work() {
    try {
      for (std::size_t next = next_++; next < tables_.size() && !failed_; next = next_++) {
        dump(tables_[next]);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      failure_ = failure_ == nullptr ? std::current_exception() : failure_;
    }
  }

  /// The database is open to be read, so each thread's snapshot is the same.
  void dump(const std::string& name) {
    const Table table = database_.table(name);
    const Transaction snapshot =
        database_.begin({.isolation = Isolation::snapshot, .read_only = true});
    const DumpText text{.dialect = Dialect::of(options_.format),
                        .compression = options_.compression};
    DumpedTable dumped{
        .name = name,
        .file = file_name_of(name, options_.format, options_.compression),
        .format = options_.format,
        .schema = text_of(TableText{.table = table.schema(), .indexes = table.indexes()})};
    const std::string path = (options_.directory / dumped.file).string();
    OutputFile file(path);
    dumped.rows = dump_rows(table, snapshot, text, [&] { return file.begin(); }, path);
    file.complete();
    const std::lock_guard lock(mutex_);
    manifest_.tables.push_back(dumped);
    write_manifest(options_.directory, manifest_);
    done_(dumped);
  }

  const DirectoryDumpOptions& options_;
  const std::function<void(const DumpedTable&)>& done_;
  Database database_;
  std::vector<std::string> tables_{};
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_{};  ///< of the next two, and of done_
  DumpManifest manifest_{};
  std::exception_ptr failure_{};
};

/// Whether the table is there, as it was dumped.
bool is_there(const DatabasePlace& place, const DumpedTable& dumped) {
  const std::optional<Database> database = find_database(place, {});
  const auto table = database ? database->find_table(dumped.name) : std::nullopt;
  if (!table) {
    return false;
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

}  // namespace

void dump_directory(const DirectoryDumpOptions& options,
                    const std::function<void(const DumpedTable&)>& done) {
  DirectoryDump(options, done).run();
}

void load_directory(const DirectoryLoadOptions& options, Counters& counters,
                    const std::function<void(const DumpedTable&, bool was_there)>& done) {
  const DumpManifest manifest = read_manifest(options.directory);
  if (!manifest.complete) {
    throw UsageError(
        fmt::format("{}: the dump is not complete: dump --directory --resume goes on "
                    "with it",
                    options.directory.string()));
  }
  for (const DumpedTable& table : manifest.tables) {
    stop_if_interrupted();
    if (options.resume && is_there(options.database, table)) {
      done(table, true);
      continue;
    }
    const bool is_json = table.format == Format::jsonl || table.format == Format::json;
    Dialect dialect = Dialect::of(table.format);
    dialect.checks_utf8 = false;  // what was in a table is in it again
    LoadOptions load;
    load.database = options.database;
    load.table = table.name;
    load.files = {(options.directory / table.file).string()};
    load.schema = table.schema;
    load.input.encoding = kAnyBytes;
    load.dialect = dialect;
    load.told = {.format = true, .delimiter = true, .quote = true};
    load.header = is_json ? Header::off : Header::match;
    load.requires_new_table = true;
    load.threads = options.threads;
    load.memory_bytes = options.memory_bytes;
    load.expected_rows = table.rows;
    const LoadResult result = run_load(load, counters, [](const LoadFindings&) {});
    if (result.too_many_faults) {
      throw Error(ErrorCode::corruption,
                  fmt::format("{}: {}", load.files[0],
                              result.first_unshown.empty() ? "its records are not those of the dump"
                                                           : result.first_unshown));
    }
    done(table, false);
  }
}

}  // namespace palimpsest::load
