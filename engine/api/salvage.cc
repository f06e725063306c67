#include "palimpsest/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "base/io/machine.h"
#include "base/io/open_device.h"
#include "base/io/overlay_device.h"
#include "engine/api/copy_place.h"
#include "engine/api/effective_options.h"
#include "engine/engine.h"
#include "engine/log_place.h"
#include "engine/salvage/copied_table.h"
#include "engine/salvage/damaged_database.h"
#include "wal/log_control.h"
#include "wal/segments.h"

namespace palimpsest {
namespace {

using engine::CopiedTable;
using engine::DamagedDatabase;
using engine::StoredTable;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kShareForSorting = 8;
constexpr std::uint64_t kMemoryBytesMin = std::uint64_t{1} << 20U;
constexpr std::uint64_t kRowsBetweenTelling = 256;

std::unique_ptr<io::Device> open_silently(const std::string& path, bool create) {
  return io::open_device(path, {.create = create, .log = {}});
}

bool has_log_files(io::Device& device) {
  return std::ranges::any_of(device.list(), [](const std::string& name) {
    return name == wal::kControlFileName || wal::Segments::is_name(name);
  });
}

/// The devices of a damaged database, on which nothing is changed.
class Source {
 public:
  Source(const std::filesystem::path& database, const SalvageOptions& options,
         std::uint64_t memory_bytes)
      : memory_(std::make_shared<io::OverlayMemory>(memory_bytes)),
        pages_(laid_over(database.string())) {
    if (!pages_->exists(buffer::kPageFileName)) {
      throw Error(ErrorCode::not_found, fmt::format("{}: not a database: there is no file \"{}\"",
                                                    pages_->path(), buffer::kPageFileName));
    }
    if (!options.without_log) {
      open_log(options.log_directory.string());
    }
  }

  [[nodiscard]] io::Device& pages() const noexcept { return *pages_; }
  /// Null: there is none.
  [[nodiscard]] io::Device* log() const noexcept { return log_; }
  [[nodiscard]] bool has_refused_memory() const noexcept { return memory_->has_refused(); }

 private:
  [[nodiscard]] std::unique_ptr<io::Device> laid_over(const std::string& path) const {
    return std::make_unique<io::OverlayDevice>(open_silently(path, false), memory_);
  }
  /// One that was elsewhere, and may be there still, is not taken for one that is lost.
  void open_log(const std::string& directory) {
    if (!directory.empty()) {
      apart_ = laid_over(directory);
    }
    io::Device& device = apart_ != nullptr ? *apart_ : *pages_;
    if (has_log_files(device)) {
      log_ = &device;
    } else if (apart_ != nullptr || !engine::remembered_log_place(*pages_).empty()) {
      engine::refuse_missing_log(*pages_, device.path());
    }
  }

  const std::shared_ptr<io::OverlayMemory> memory_;
  const std::unique_ptr<io::Device> pages_;
  std::unique_ptr<io::Device> apart_;  ///< of the log, if it lies elsewhere
  io::Device* log_ = nullptr;
};

/// The directory of the copy. What was made there goes, unless it is kept.
class CopyDirectory {
 public:
  CopyDirectory(const std::filesystem::path& copy, const Source& source)
      : path_(copy.string()), was_there_(io::may_be_there(path_)) {
    if (!was_there_) {
      refuse_own(source);
    }
    device_ = open_silently(path_, true);
    if (!device_->list().empty()) {
      throw Error(
          ErrorCode::already_exists,
          fmt::format("{}: the copy needs a directory that is empty or does not exist", path_));
    }
    is_mine_ = true;
    refuse_own(source);
  }
  CopyDirectory(const CopyDirectory&) = delete;
  CopyDirectory& operator=(const CopyDirectory&) = delete;
  ~CopyDirectory() {
    try {
      if (is_mine_) {
        remove_all();
      }
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): what was thrown before tells more
    }
  }

  [[nodiscard]] io::Device& device() const noexcept { return *device_; }
  void keep() noexcept { is_mine_ = false; }

 private:
  void refuse_own(const Source& source) const {
    detail::refuse_within_own("a copy", path_, source.pages().path());
    if (source.log() != nullptr) {
      detail::refuse_within_own("a copy", path_, source.log()->path());
    }
  }
  void remove_all() {
    for (const std::string& name : device_->list()) {
      device_->remove(name);
    }
    if (!was_there_) {
      io::remove_empty_directory(path_);
    }
  }

  const std::string path_;
  const bool was_there_;
  bool is_mine_ = false;
  std::unique_ptr<io::Device> device_;
};

/// Counts the records of a tree, and keeps nothing.
class CountedRecords final : public engine::RecordSink {
 public:
  void record(ByteView /*key*/, ByteView /*value*/) override { ++count; }
  void left_out(ByteView /*key*/, engine::LeftOut /*why*/) override {}
  void miss(const engine::KeyPart& /*part*/) override {}

  std::uint64_t count = 0;
};

/// Copies tables into a database that is new, in one bulk.
class Salvage {
 public:
  Salvage(DamagedDatabase& source, Transaction& copy, const SalvageOptions& options,
          SalvageReport& report)
      : source_(source), copy_(copy), options_(options), report_(report) {}

  /// Of trees as they come, which is not the order of the tables' names.
  void run() {
    for (const auto& [name, stored] : source_.definitions().tables) {
      tables_[name] = {.name = name, .damaged_pages = source_.damaged_pages_of(stored.tree)};
    }
    while (const auto tree = source_.next_tree()) {
      copy_tree(*tree);
    }
    for (const auto& [name, stored] : source_.definitions().tables) {
      if (!copied_.contains(name)) {  // no leaf of it is left
        copy_table(stored);
      }
      CopiedTable::make_indexes(copy_, stored, tables_.at(name));
      report_.tables.push_back(std::move(tables_.at(name)));
    }
  }

  void tell_pages(std::uint64_t pages) {
    now_.pages_read = pages;
    now_.pages_total = source_.pages();
    tell();
  }

 private:
  void tell() const {
    if (options_.progress) {
      options_.progress(now_);
    }
  }
  void tell_row() {
    ++report_.rows;
    if (++now_.rows % kRowsBetweenTelling == 0) {
      tell();
    }
  }

  void copy_tree(TreeId tree) {
    const engine::FoundDefinitions& definitions = source_.definitions();
    if (const StoredTable* const stored = definitions.table_of(tree)) {
      copy_table(*stored);
    } else if (!definitions.is_whole && !definitions.names(tree)) {
      copy_lost(tree);
    }
  }

  void copy_table(const StoredTable& stored) {
    copied_.insert(stored.schema.name);
    CopiedTable table(copy_, stored, tables_.at(stored.schema.name), [this] { tell_row(); });
    source_.read(stored.tree, table);
    table.end_rows();
  }

  /// Its records as they are stored, or only how many there are.
  void copy_lost(TreeId tree) {
    LostTree lost{.number = raw(tree)};
    if (options_.lost_trees) {
      const StoredTable stored{.schema = key_value_table(fmt::format("lost tree {}", raw(tree))),
                               .tree = tree};
      SalvagedTable told{.name = stored.schema.name};
      CopiedTable table(copy_, stored, told, [this] { tell_row(); });
      source_.read(tree, table);
      lost.records = told.rows;
      lost.table = told.name;
    } else {
      CountedRecords counted;
      source_.read(tree, counted);
      lost.records = counted.count;
    }
    if (lost.records != 0) {
      report_.lost_trees.push_back(std::move(lost));
    }
  }

  DamagedDatabase& source_;
  Transaction& copy_;
  const SalvageOptions& options_;
  SalvageReport& report_;
  SalvageProgress now_;
  std::map<std::string, SalvagedTable> tables_;
  std::set<std::string> copied_;
};

Database make_copy(const std::filesystem::path& copy, std::uint32_t page_bytes,
                   std::uint64_t memory_bytes, const SalvageOptions& salvage) {
  Options options;
  options.must_be_new = true;
  options.log = salvage.log;
  options.log_level = salvage.log_level;
  options.page_bytes = page_bytes;
  options.memory_bytes = std::max(memory_bytes, engine::Engine::memory_bytes_min(page_bytes));
  return Database::open(copy, options);
}

std::uint64_t memory_of(const SalvageOptions& options) {
  return options.memory_bytes != 0
             ? std::max(options.memory_bytes, kMemoryBytesMin)
             : engine::effective_options({}, io::this_machine()).database.memory_bytes;
}

void copy_all(DamagedDatabase& source, CopyDirectory& directory, const std::filesystem::path& copy,
              const SalvageOptions& options, SalvageReport& report) {
  const std::uint64_t memory_bytes = memory_of(options);
  Database database = make_copy(copy, source.page_size_bytes(), memory_bytes, options);
  Transaction bulk = database.begin({.bulk = true});
  Salvage work(source, bulk, options, report);
  source.look(directory.device(), memory_bytes / kShareForSorting, options.doubtful,
              [&](std::uint64_t pages) { work.tell_pages(pages); });
  work.run();
  bulk.commit();
  database.close();
  source.tell(report);
}

}  // namespace

bool SalvageReport::is_whole() const noexcept {
  return std::ranges::all_of(tables, &SalvagedTable::is_whole) && has_all_definitions &&
         log_fault.empty() && transactions_not_undone == 0 && doubtful_pages == 0;
}

SalvageReport salvage(const std::filesystem::path& database, const std::filesystem::path& copy,
                      const SalvageOptions& options) {
  const auto begun = SteadyClock::now();
  SalvageReport report;
  const Source source(database, options, memory_of(options));
  try {
    CopyDirectory directory(copy, source);  // first: what is sorted lies there
    DamagedDatabase damaged(source.pages(), source.log(),
                            static_cast<std::size_t>(memory_of(options) / 2));
    copy_all(damaged, directory, copy, options, report);
    directory.keep();
  } catch (const Error&) {
    if (!source.has_refused_memory()) {
      throw;
    }
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: the log changes more pages than memory_bytes, {}, can hold",
                            source.pages().path(), memory_of(options)));
  }
  report.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun);
  return report;
}

}  // namespace palimpsest
