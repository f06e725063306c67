#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/round_up.h"
#include "base/sync_point.h"
#include "bulk/sort/sort_file.h"
#include "engine/backup/backup.h"
#include "engine/engine_report.h"
#include "engine/log_place.h"
#include "engine/recovery/analysis.h"
#include "engine/recovery/checkpoint_note.h"
#include "engine/recovery/freed_runs.h"
#include "engine/recovery/redo.h"
#include "engine/recovery/undo_losers.h"
#include "engine/space/compaction.h"
#include "engine/version_share.h"
#include "wal/log_reader.h"
#include "wal/transaction_record.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Assumed minimum speed of redo, reading pages included.
constexpr std::uint64_t kRedoBytesPerSecond = std::uint64_t{50} << 20U;
/// The number of slot logs that memory is budgeted for. Each gets its share; further ones are as
/// small as possible.
constexpr std::uint64_t kSlotLogsReckoned = 8;
constexpr std::uint64_t kShareOfSlotLog = 4096;
constexpr std::size_t kSlotLogBytesMin = std::size_t{256} << 10U;
constexpr std::size_t kSlotLogBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kBatchBytesMax = std::size_t{1} << 20U;
/// Name of the page file until it is complete.
constexpr std::string_view kNewPageFileName = "pages.new";

std::chrono::milliseconds since(SteadyClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begin);
}

std::size_t record_bytes_max(std::uint32_t page_size) {
  return wal::record_bytes_max(wal::RecordRole::compensation, btree::max_record_bytes(page_size));
}

/// The log's batches hold two of the largest records.
std::size_t batch_bytes_min(std::uint32_t page_size) {
  return round_up(2 * wal::chunk_bytes(record_bytes_max(page_size)), wal::kSegmentHeaderBytes);
}

std::size_t slot_log_bytes_min(std::uint32_t page_size) {
  return std::max(kSlotLogBytesMin, std::bit_ceil(2 * record_bytes_max(page_size)));
}

/// Size of the slot logs that memory is budgeted for.
std::size_t slot_log_bytes(std::uint64_t memory_bytes, std::uint32_t page_size) {
  const std::size_t share = std::bit_floor(memory_bytes / kShareOfSlotLog);
  return std::max(std::min(share, kSlotLogBytesMax), slot_log_bytes_min(page_size));
}

/// Memory that is not the pool's.
std::uint64_t shares_bytes(std::uint64_t memory_bytes, std::uint32_t page_size,
                           std::uint32_t batch_pages) {
  const std::uint64_t writer = std::uint64_t{batch_pages} * page_size;
  return kBatchBytesMax + writer + kSlotLogsReckoned * slot_log_bytes(memory_bytes, page_size);
}

std::uint64_t version_bytes_max(const EngineOptions& options) {
  return options.version_bytes_max != 0 ? options.version_bytes_max
                                        : default_version_bytes(options.memory_bytes);
}

std::uint64_t read_bytes_max(const EngineOptions& options) {
  return options.read_bytes_max != 0 ? options.read_bytes_max
                                     : default_read_bytes(options.memory_bytes);
}

/// Address space for versions, entries and mapping tables, with room for blocks that are not full.
/// None in builds with debug checks, because sanitizers know only the heap.
std::size_t slab_bytes([[maybe_unused]] const EngineOptions& options) {
#ifdef PALIMPSEST_DEBUG_CHECKS
  return 0;
#else
  const std::uint64_t most = version_bytes_max(options);
  return static_cast<std::size_t>(most + most / 4);
#endif
}

/// Reads data without which no table can be found.
void need(std::string_view what, FunctionRef<void()> read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corruption) {
      throw;
    }
    throw Error(error.code(),
                fmt::format("{} cannot be read, and without it the database cannot be "
                            "opened: restore a backup, or copy what can be read of it into a new "
                            "database (palimpsest salvage): {}",
                            what, error.what()));
  }
}

/// Scope of an operation of which one may run at a time; in a second one, is_mine() is false.
class OneAtATime {
 public:
  explicit OneAtATime(std::atomic<bool>& taken) noexcept
      : taken_(taken), is_mine_(!taken.exchange(true)) {}
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;
  ~OneAtATime() {
    if (is_mine_) {
      taken_.store(false);
    }
  }
  [[nodiscard]] bool is_mine() const noexcept { return is_mine_; }

 private:
  std::atomic<bool>& taken_;
  const bool is_mine_;
};

}  // namespace

struct Engine::Unfinished {
  std::vector<LoserTransaction> losers;
  std::vector<buffer::PageRun> given_up;
  std::vector<buffer::RecoveredRun> space;
};

std::unique_ptr<Engine> Engine::open(io::Device& pages, io::Device& log,
                                     const EngineOptions& options) {
  const ReportedTime time;
  std::unique_ptr<Engine> database(new Engine(pages, log, options));
  const auto alone = pages.lock_directory();  // until it is known what exists, or all is made
  try {
    database->open_files();
    bulk::remove_sort_files(pages);  // no other process has the page file open
    database->start();
  } catch (const Error& error) {
    if (!database->making_ || error.code() != ErrorCode::no_space) {
      throw;
    }
    throw Error(error.code(), fmt::format("the database cannot be created: {}", error.what()));
  }
  database->opened_ = true;
  report_opened(options.log, {pages, log, *database->file_, *database->store_, options,
                              database->recovery_, database->making_, time});
  return database;
}

Engine::Engine(io::Device& pages, io::Device& log, const EngineOptions& options)
    : page_device_(pages), log_device_(log), options_(options), entries_(slab_bytes(options)) {}

Engine::~Engine() {
  if (opened_ && !closed_) {
    try {
      close();
    } catch (const std::exception& error) {
      opened_ = false;  // the next opening recovers
      report_not_closed(options_.log, page_device_, error.what());
    }
  }
  tree_messages_.know(nullptr);  // threads that end later may still report an error
}

// Files

void Engine::open_files() {
  if (!page_device_.exists(buffer::kPageFileName)) {
    if (page_device_.exists(kCopyName)) {
      throw Error(
          ErrorCode::not_a_database,
          fmt::format("{}: an interrupted backup; its files can be removed", page_device_.path()));
    }
    if (log_device_.exists(wal::kControlFileName)) {
      throw Error(ErrorCode::corruption, fmt::format("{}: there is a log, but no page file \"{}\"",
                                                     page_device_.path(), buffer::kPageFileName));
    }
    make_files();
    return;
  }
  if (options_.must_be_new) {
    require_new();
  }
  file_ = buffer::PageFile::open(page_device_, buffer::kPageFileName,
                                 {.allow_unclean = true, .log = options_.log});
  if (file_->catalog_root() == kNoPage) {
    remove_unfinished();
    make_files();
    return;
  }
  require_log(page_device_, log_device_);
  store_ = wal::LogStore::open(log_device_, log_file_options(), false);
  require_own_log(store_->control());
  remember_log_place(page_device_, log_device_);
}

// Only looks: a database that was closed cleanly stays so.
void Engine::require_new() const {
  const auto file = buffer::PageFile::open(page_device_, buffer::kPageFileName,
                                           {.read_only = true, .allow_unclean = true});
  if (file->catalog_root() != kNoPage) {
    throw Error(ErrorCode::already_exists,
                fmt::format("{}: a database exists already", page_device_.path()));
  }
}

void Engine::require_own_log(const wal::LogControl& control) const {
  if (control.state().uuid != file_->header().uuid) {
    throw Error(ErrorCode::corruption,
                fmt::format("{}: the log belongs to another database", log_device_.path()));
  }
}

void Engine::make_files() {
  if (!options_.create_if_missing) {
    throw Error(ErrorCode::not_found, fmt::format("{}: there is no database", page_device_.path()));
  }
  making_ = true;
  if (page_device_.exists(kNewPageFileName)) {
    page_device_.remove(kNewPageFileName);  // its making was interrupted
  }
  buffer::PageFile::create(page_device_, kNewPageFileName, options_.pages).reset();
  page_device_.rename(kNewPageFileName, buffer::kPageFileName);
  page_device_.sync_directory();
  file_ = buffer::PageFile::open(page_device_, buffer::kPageFileName,
                                 {.allow_unclean = true, .log = options_.log});
  store_ = wal::LogStore::create(log_device_, file_->header().uuid, log_file_options());
  remember_log_place(page_device_, log_device_);
}

// The page file is removed last: as long as it exists, the rest may be removed.
void Engine::remove_unfinished() {
  std::unique_ptr<wal::LogControl> control;  // locked until it is removed
  if (log_device_.exists(wal::kControlFileName)) {
    control = wal::LogControl::open(log_device_, true);
    require_own_log(*control);
  }
  file_.reset();
  wal::LogStore::remove(log_device_);
  page_device_.remove(buffer::kPageFileName);
  page_device_.sync_directory();
}

// Sizes

std::uint64_t Engine::memory_bytes_min(std::uint32_t page_size_bytes) {
  return shares_bytes(0, page_size_bytes, buffer::PageFileOptions{}.batch_pages) +
         kVersionBytesMin + kReadBytesMin + buffer::BufferPool::memory_bytes_min(page_size_bytes);
}

std::uint64_t Engine::log_segment_bytes_min(std::uint32_t page_size_bytes) {
  return std::max<std::uint64_t>(wal::kSegmentBytesMin,
                                 batch_bytes_min(page_size_bytes) + wal::kSegmentHeaderBytes);
}

wal::LogFileOptions Engine::log_file_options() const {
  const std::uint64_t segments = options_.log_bytes_max / options_.log_segment_bytes;
  return {.segment_bytes = options_.log_segment_bytes,
          .first_segment_bytes = options_.log_first_segment_bytes,
          .segments_max = static_cast<std::uint32_t>(
              std::max<std::uint64_t>(segments, wal::LogStore::kSegmentsMin)),
          .zeros_beside = options_.background_threads};
}

wal::LogOptions Engine::log_options() {
  const std::uint32_t page_size = file_->page_size_bytes();
  const std::size_t batch_bytes_wanted =
      std::min<std::size_t>(kBatchBytesMax, store_->segments().segment_bytes() / 4);
  return {.slot_log_bytes = slot_log_bytes_min(page_size),
          .first_slot_log_bytes = slot_log_bytes(options_.memory_bytes, page_size),
          .first_slot_logs = kSlotLogsReckoned,
          .record_bytes_max = record_bytes_max(page_size),
          .batch_bytes_max =
              std::max(batch_bytes_min(page_size),
                       batch_bytes_wanted / wal::kSegmentHeaderBytes * wal::kSegmentHeaderBytes),
          .on_filling =
              [this] {
                if (Checkpointer* checkpointer = woken_by_log_.load(std::memory_order_acquire)) {
                  checkpointer->log_is_filling();
                }
              },
          .harden_pages =
              [this] {
                file_->require_writable();
                large_values_->write_deferred();
                file_->sync();
              },
          .messages = options_.log};
}

std::uint64_t Engine::pool_bytes() const {
  const std::uint64_t shares =
      shares_bytes(options_.memory_bytes, file_->page_size_bytes(), file_->batch_pages());
  const std::uint64_t least = buffer::BufferPool::memory_bytes_min(file_->page_size_bytes());
  return std::max(least, options_.memory_bytes -
                             std::min(options_.memory_bytes, shares + version_bytes_max(options_) +
                                                                 read_bytes_max(options_)));
}

// The length of replay rises to this bound; at half of its capacity, the log reports that it is
// filling.
std::uint64_t Engine::replay_bytes_max() const {
  const auto seconds = static_cast<std::uint64_t>(options_.recovery_time.count());
  const std::uint64_t most = log_->capacity_bytes() / 8 * 3;
  const std::uint64_t least = std::min(2 * store_->segments().segment_bytes(), most);
  const std::uint64_t wanted =
      options_.replay_bytes_max != 0 ? options_.replay_bytes_max : seconds * kRedoBytesPerSecond;
  return std::clamp(wanted, least, most);
}

SortSpace Engine::sort_space() const {
  constexpr std::uint64_t kShareOfMemory = 8;
  constexpr std::uint64_t kBytesMin = std::uint64_t{1} << 20U;
  constexpr std::uint64_t kBytesMax = std::uint64_t{256} << 20U;
  const std::uint64_t share =
      std::clamp(options_.memory_bytes / kShareOfMemory, kBytesMin, kBytesMax);
  return {.device = page_device_,
          .memory_bytes = options_.sort_bytes != 0 ? options_.sort_bytes : share,
          .threads = options_.background_threads ? 1U : 0U};
}

// Opening

void Engine::start() {
  slots_.emplace(options_.max_transactions + 1);  // one is the engine's
  wal::LogReader reader(store_->segments(), store_->control().state());
  const wal::LogEnd& end = reader.find_end();
  store_->harden(end);  // pages must not get ahead of it
  const wal::ControlState& control = store_->control().state();
  recovery_.was_needed = file_->catalog_root() != kNoPage &&
                         (!control.clean || !file_->was_clean() || end.batches != 0);
  const CheckpointNote note = decode_checkpoint_note(control.note);
  clock_.raise(note.clock);
  clock_.raise(end.durable_gsn);
  Unfinished unfinished;
  if (recovery_.was_needed) {
    report_recovery(options_.log, page_device_, *store_, end);
    unfinished = recover(reader, note.replayed_up_to);
    report_losers(options_.log, unfinished.losers);
  }
  need("the space map", [&] { space_.emplace(*file_); });
  space_->recover(unfinished.space);
  clock_.raise(space_->newest_gsn());
  clock_.raise(Gsn{raw(clock_.now()) + 1});
  begin_log(end);
  make_parts();
  if (file_->catalog_root() == kNoPage) {
    make_catalog();
  } else {
    finish_recovery(unfinished);
  }
  make_definitions();
}

Engine::Unfinished Engine::recover(const wal::LogReader& reader, Gsn replayed_up_to) {
  auto begin = SteadyClock::now();
  const RecoveryAnalysis analysis = analyse(reader, {.page_size_bytes = file_->page_size_bytes(),
                                                     .freed_runs = decode_freed_runs,
                                                     .progress = options_.progress,
                                                     .replayed_up_to = replayed_up_to});
  clock_.raise(analysis.newest_gsn);
  recovery_.analysis = since(begin);
  begin = SteadyClock::now();
  buffer::PageWriter writer(*file_);
  const RedoStatistics redone =
      redo(reader, analysis, *file_, writer,
           {.memory_bytes = static_cast<std::size_t>(options_.memory_bytes / 2),
            .workers = options_.recovery_threads,
            .progress = options_.progress});
  recovery_.redo = since(begin);
  recovery_.log_bytes = redone.log_bytes;
  recovery_.changes_applied = redone.changes_applied;
  recovery_.losers = analysis.losers.size();
  Unfinished unfinished{.losers = analysis.losers, .given_up = analysis.given_up, .space = {}};
  analysis.space.visit([&](const PageRange& range) {
    const auto pages = static_cast<std::uint32_t>(raw(range.end) - raw(range.begin));
    unfinished.space.push_back({.run = {range.begin, pages}, .in_use = range.in_use});
  });
  PALIMPSEST_SYNC_POINT("engine.recovery.redone");
  return unfinished;
}

void Engine::begin_log(const wal::LogEnd& end) {
  log_ = wal::Log::begin(*store_, end, clock_, *slots_, log_options());
  space_->log_with(*log_);
}

void Engine::make_parts() {
  writer_.emplace(*file_, &*log_);
  node_kind_.emplace(*file_);
  node_kind_->register_in(kinds_);
  pool_.emplace(*file_, *writer_, *space_, kinds_,
                buffer::BufferPoolOptions{.memory_bytes = pool_bytes()}, &tables_);
  pool_->name_trees(&tree_messages_);
  epochs_.emplace(entries_);
  large_values_.emplace(*file_, *writer_, *space_, &*pool_, &*log_);
  catalog_.emplace(*pool_, *large_values_, *epochs_);
}

txn::TransactionOptions Engine::transaction_options() const {
  txn::TransactionOptions options = options_.transactions;
  options.version_bytes_max = version_bytes_max(options_);
  options.read_bytes_max = read_bytes_max(options_);
  options.log = options_.log;
  return options;
}

void Engine::make_transactions() {
  transactions_.emplace(txn::Parts{.log = *log_,
                                   .clock = clock_,
                                   .slots = *slots_,
                                   .entries = entries_,
                                   .writer = *writer_,
                                   .space = *space_,
                                   .pool = *pool_,
                                   .trees = *catalog_,
                                   .epochs = *epochs_,
                                   .reclaimer = &reclaimable_space_},
                        transaction_options());
  folder_.emplace(transactions_->snapshots(), entries_);
  tables_.fold_with(&*folder_);
  folding_.reset(&tables_);
}

void Engine::make_checkpointer() {
  checkpointer_.emplace(*log_, clock_, *slots_, *pool_, *transactions_,
                        CheckpointerOptions{.replay_bytes_max = replay_bytes_max(),
                                            .background = options_.background_threads,
                                            .log = options_.log});
  woken_by_log_.store(&*checkpointer_, std::memory_order_release);
}

// Until the header names the catalog's root, there is no database. By then the catalog is durable
// and on disk: the next opening may find the header and nothing to replay.
void Engine::make_catalog() {
  make_transactions();
  make_checkpointer();
  const PageId root = catalog_->create(*transactions_);
  checkpointer_->run();
  PALIMPSEST_SYNC_POINT("engine.database.made");
  file_->set_catalog_root(root);
}

// Space for the log records of undo was reserved before the crash, but padding may have used it
// since, and replay's start cannot move before all is undone: undo overdraws the log's budget if
// necessary. Losers are undone before any transaction can begin. Then the catalog is read again,
// because the trees that losers made are gone.
void Engine::finish_recovery(const Unfinished& unfinished) {
  need("the list of all trees", [&] { catalog_->open(file_->catalog_root()); });
  const auto begin = SteadyClock::now();
  undo_losers(unfinished.losers, {.log = *log_,
                                  .clock = clock_,
                                  .slots = *slots_,
                                  .segments = store_->segments(),
                                  .trees = *catalog_,
                                  .threads = options_.recovery_threads,
                                  .progress = options_.progress});
  recovery_.undo = since(begin);
  need("the list of all trees", [&] { catalog_->open(file_->catalog_root()); });
  make_transactions();
  transactions_->deferred_frees().free_now(unfinished.given_up);
  make_checkpointer();  // not earlier: it could move replay's start past the records that say what
                        // is pending
  if (recovery_.was_needed) {
    checkpointer_->run();
    report_recovered(options_.log, page_device_, recovery_);
  }
}

void Engine::make_definitions() {
  tree_pool_.emplace(*catalog_, *transactions_, TreePool::kPatience, options_.log);
  bulk_ledger_.emplace(*catalog_, *transactions_, *epochs_, entries_);
  need("the list of running bulks", [&] { bulk_ledger_->open(); });
  bulk_sweep_.emplace(*catalog_, *transactions_, *epochs_, *bulk_ledger_,
                      bulk::BulkSweepOptions{.pause = options_.sweep_pause, .log = options_.log});
  table_catalog_.emplace(*catalog_, *transactions_, *tree_pool_,
                         TableCatalog::Bulks{*epochs_, *bulk_ledger_, *bulk_sweep_}, sort_space(),
                         options_.definition_patience);
  need("the definitions of tables", [&] { table_catalog_->open(); });
  tree_messages_.know(&*table_catalog_);
  bulk_sweep_->open(*table_catalog_);
  reclaimable_space_.open(*table_catalog_, *tree_pool_, *transactions_);
  space_keeper_.emplace(compacted_parts());
  start_background();
}

void Engine::start_background() {
  if (options_.background_threads && options_.background_sweeps) {
    tree_pool_->start();
    bulk_sweep_->start();
    space_keeper_->start();
  }
}

BackupReport Engine::back_up(io::Device& into, const BackupOptions& options) {
  const OneAtATime one(is_copied_);
  if (!one.is_mine()) {
    throw Error(ErrorCode::locked,
                fmt::format("{}: a backup is already being made, or the database is being closed",
                            page_device_.path()));
  }
  {
    const std::lock_guard cut(cutting_);
  }  // waits for a cut that has begun before
  return engine::back_up({.file = *file_,
                          .writer = *writer_,
                          .space = *space_,
                          .store = *store_,
                          .log = *log_,
                          .clock = clock_},
                         into, options);
}

CompactionReport Engine::compact(const CompactionOptions& options) {
  const OneAtATime one(is_compacted_);
  if (!one.is_mine()) {
    throw Error(ErrorCode::locked,
                fmt::format("{}: the database is already being compacted, or being closed",
                            page_device_.path()));
  }
  const bool is_kept = options_.background_threads && options_.background_sweeps;
  space_keeper_->stop();
  try {
    const CompactionReport report = Compaction(compacted_parts(), options).run();
    is_kept ? space_keeper_->start() : void();
    return report;
  } catch (...) {
    is_kept ? space_keeper_->start() : void();
    throw;
  }
}

CompactedParts Engine::compacted_parts() {
  return {.file = *file_,
          .space = *space_,
          .log = *log_,
          .transactions = *transactions_,
          .trees = *catalog_,
          .store = *tree_pool_,
          .cut_tail = [this](std::uint64_t pages) { return cut_tail(pages); },
          .report = options_.log};
}

void Engine::close() {
  const ReportedTime time;
  const OneAtATime uncompacted(is_compacted_);
  if (!uncompacted.is_mine()) {
    throw Error(ErrorCode::invalid_argument,
                "the database is being compacted: close it after the compaction has ended");
  }
  const OneAtATime alone(is_copied_);
  if (!alone.is_mine()) {
    throw Error(ErrorCode::invalid_argument,
                "a backup is being made: close the database after it has ended");
  }
  space_keeper_->stop();
  tree_pool_->stop();
  bulk_sweep_->stop();
  if (transactions_->active() != 0) {
    start_background();
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} transactions or cursors are open: end them before the database is closed",
                    transactions_->active()));
  }
  closed_ = true;
  checkpointer_->stop();
  large_values_->write_deferred();
  checkpointer_->run_clean();
  cut_long_tail();
  file_->close_cleanly();
  report_closed(options_.log, page_device_, time);
}

// The replayed part of the log is empty by now and all frees are durable: nothing refers to the
// pages behind the cut any more, and a crash before the file is marked as clean has nothing to redo
// there. The pages that the file would grow by at the next write stay.
// A backup reads pages by their ids, and would not find those that were cut off.
std::uint64_t Engine::cut_tail(std::uint64_t pages_min) {
  const std::lock_guard lock(cutting_);
  return is_copied_.load() ? 0 : space_->truncate_free_tail(pages_min);
}

void Engine::cut_long_tail() {
  space_->truncate_free_tail(space_->growth_pages() + 1);
}

}  // namespace palimpsest::engine
