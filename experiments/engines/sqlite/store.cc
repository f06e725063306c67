#include "experiments/engines/sqlite/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kFrameHeaderBytes = 24;
constexpr int kCacheKib = 64 << 10;
constexpr int kBusyMs = 10'000;

/// The log file, opened beside SQLite to sync it.
class LogFile {
 public:
  explicit LogFile(const std::string& file)
      : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    check_result(descriptor_, "open the log");
  }
  ~LogFile() { ::close(descriptor_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void sync() const { check_result(::fdatasync(descriptor_), "sync the log"); }

 private:
  static void check_result(int result, const char* what) {
    if (result < 0) {
      throw std::system_error(errno, std::generic_category(), fmt::format("sqlite: {}", what));
    }
  }

  int descriptor_;
};

std::string pragmas_of(const StoreSettings& settings) {
  if (settings.purpose == Purpose::commits) {
    return fmt::format(
        "PRAGMA page_size={}; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; "
        "PRAGMA synchronous={}; PRAGMA cache_size=-{}",
        kPageBytes, settings.durability == Durability::sync ? "FULL" : "NORMAL", kCacheKib);
  }
  return fmt::format(
      "PRAGMA busy_timeout={}; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
      "PRAGMA cache_size=-{}",
      kBusyMs, settings.memory_bytes / 2 >> 10U);
}

}  // namespace

void SqliteSession::begin(Intent intent) {
  turn_.lock();
  (intent == Intent::read_write ? records_->begin : records_->begin_reading).run();
}

Access SqliteSession::commit() {
  records_->commit.run();
  turn_.unlock();
  return Access::done;
}

void SqliteSession::rollback() noexcept {
  if (turn_.owns_lock()) {
    sqlite3_exec(records_->connection.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    turn_.unlock();
  }
}

Access SqliteSession::insert(TableId /*table*/, ByteView key, ByteView value) {
  records_->insert.bind(1, record_of(key));
  records_->insert.bind(2, value);
  records_->insert.run();
  return Access::done;
}

Access SqliteSession::erase(TableId /*table*/, ByteView key) {
  records_->erase.bind(1, record_of(key));
  records_->erase.run();
  return sqlite3_changes(records_->connection.handle()) != 0 ? Access::done : Access::missing;
}

SqliteStore::SqliteStore(const StoreSettings& settings)
    : settings_(settings), file_((settings.directory / "records.sqlite").string()) {
  std::shared_ptr<sqlite::Records> first = open_records();  // makes the table
  if (settings_.purpose == Purpose::commits) {
    records_ = std::move(first);
  }
}

std::shared_ptr<sqlite::Records> SqliteStore::open_records() const {
  return std::make_shared<sqlite::Records>(
      file_, settings_.purpose == Purpose::commits ? SQLITE_OPEN_NOMUTEX : 0,
      pragmas_of(settings_));
}

std::unique_ptr<SqliteSession> SqliteStore::open_session(SessionUse /*use*/) {
  return std::make_unique<SqliteSession>(records_ ? records_ : open_records());
}

void SqliteStore::finish_load() {
  records_->connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  if (settings_.durability == Durability::async) {
    flusher_ = std::make_unique<PeriodicTask>(
        settings_.asynchronous_interval,
        [log = std::make_shared<LogFile>(file_ + "-wal")] { log->sync(); });
  }
}

StoreCounts SqliteStore::counts() const {
  int pages = 0;
  int unused = 0;
  const std::lock_guard lock(records_->mutex);
  sqlite::Connection& connection = records_->connection;
  connection.ensure(
      sqlite3_db_status(connection.handle(), SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 0),
      "count the written pages");
  // Each has a frame header ("WAL file format"); there is no padding, a record is a page.
  const std::uint64_t bytes = static_cast<std::uint64_t>(pages) * (kPageBytes + kFrameHeaderBytes);
  return {.log_bytes = bytes, .log_record_bytes = bytes};
}

std::string SqliteStore::description() const {
  if (settings_.purpose == Purpose::churn) {
    return "WAL, synchronous=NORMAL";
  }
  return settings_.durability == Durability::sync
             ? std::string("WAL, synchronous=FULL")
             : fmt::format("WAL, synchronous=NORMAL, log synced every {} ms",
                           settings_.asynchronous_interval.count());
}

EngineOptions SqliteStore::effective_options() const {
  return {{.name = "pragmas", .value = pragmas_of(settings_)}};
}

void SqliteStore::close() {
  if (flusher_) {
    flusher_->stop();
  }
  if (records_) {
    records_->connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  records_.reset();
}

StoreEntry<SqliteStore> sqlite_store() {
  return {.traits = {.name = "sqlite",
                     .isolations = {Isolation::serializable},
                     .durabilities = {Durability::async, Durability::sync}},
          .open = [](const StoreSettings& settings) {
            return std::make_unique<SqliteStore>(settings);
          }};
}

}  // namespace palimpsest::experiments
