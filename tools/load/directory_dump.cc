#include "tools/load/directory_dump.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <system_error>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/output_file.h"
#include "tools/load/output_place.h"
#include "tools/load/schema_text.h"
#include "tools/load/tables_together.h"
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
        database_(open_to_read(options.database, database_bytes_of(options.memory_bytes))) {}

  void run() {
    make_directory();
    manifest_.state = state_of(options_.database);
    find_tables();
    take_over();
    threads_of_table_ =
        std::max<std::size_t>(1, options_.threads / std::max<std::size_t>(tables_.size(), 1));
    const auto work = [this](std::size_t table) { dump(tables_[table]); };
    require_all(work_together(tables_.size(), options_.threads, work), tables_, "dumped",
                "; the files of the others stay, and --resume goes on with what is missing");
    std::ranges::sort(manifest_.tables, {}, &DumpedTable::name);
    manifest_.complete = true;
    write_manifest(options_.directory, manifest_);
  }

 private:
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

  void dump(const std::string& name) {
    const Table table = database_.table(name);
    const DumpText text{.dialect = Dialect::of(options_.format),
                        .compression = options_.compression};
    DumpedTable dumped{
        .name = name,
        .file = file_name_of(name, options_.format, options_.compression),
        .format = options_.format,
        .schema = text_of(TableText{.table = table.schema(), .indexes = table.indexes()})};
    const std::string path = (options_.directory / dumped.file).string();
    OutputFile file(path);
    dumped.rows =
        dump_rows(database_, table, text, threads_of_table_, [&] { return file.begin(); }, path);
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
  std::size_t threads_of_table_ = 1;  ///< more than one if there are more threads than tables
  std::mutex mutex_{};                ///< of the manifest, and of done_
  DumpManifest manifest_{};
};

}  // namespace

void dump_directory(const DirectoryDumpOptions& options,
                    const std::function<void(const DumpedTable&)>& done) {
  DirectoryDump(options, done).run();
}

}  // namespace palimpsest::load
