// SQLite: a B-tree with a write-ahead log of whole pages, one writer.
//
// Settings, from the SQLite documentation ("Write-Ahead Logging", "PRAGMA synchronous", "PRAGMA
// locking_mode", sqlite3_db_status):
// - journal_mode=WAL. Synchronous: synchronous=FULL, which syncs the log at each commit.
//   Asynchronous: synchronous=NORMAL, which syncs it before a checkpoint only; a thread syncs the
//   log file every so many milliseconds, since SQLite has no call for that.
// - One connection under a mutex, prepared statements: with one per thread, each commit would
//   invalidate the page caches of all other connections, and waiting writers would sleep by the
//   busy handler's steps. There is no group commit either way.
// - locking_mode=EXCLUSIVE: no file locks and no shared memory, as no other process takes part.
// - Keys are the rowid. Pages of 4 KiB, and a checkpoint by the committing thread whenever the log
//   has 1000 of them: the defaults. It ignores --checkpoint_ms.
// Log bytes: each page written to the log has a frame header of 24 bytes ("WAL file format"); there
// is no padding, a record is a page.
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "experiments/common/periodic_task.h"
#include "experiments/log_bench/peer_engines.h"

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kFrameHeaderBytes = 24;
constexpr int kCacheKib = 64 << 10;

/// A prepared statement. Its user steps through the rows, and resets it.
class Statement {
 public:
  Statement(sqlite3* connection, const char* text) : connection_(connection) {
    ensure(sqlite3_prepare_v3(connection, text, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                              nullptr) == SQLITE_OK);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind_record(int index, std::uint64_t record) {
    ensure(sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(record)) == SQLITE_OK);
  }
  /// `value` stays as it is until the reset.
  void bind_value(int index, const Value& value) {
    ensure(sqlite3_bind_blob(statement_, index, value.data(), static_cast<int>(value.size()),
                             SQLITE_STATIC) == SQLITE_OK);
  }

  /// Runs a statement without rows to its end.
  void execute() {
    const int code = sqlite3_step(statement_);
    ensure(code == SQLITE_DONE);
    reset();
  }

  /// The first column of the first row, if there is a row and the column has the size of a value.
  std::optional<Value> value() {
    const int code = sqlite3_step(statement_);
    ensure(code == SQLITE_DONE || code == SQLITE_ROW);
    std::optional<Value> value;
    if (code == SQLITE_ROW && sqlite3_column_bytes(statement_, 0) == int{kValueBytes}) {
      std::memcpy(value.emplace().data(), sqlite3_column_blob(statement_, 0), kValueBytes);
    }
    reset();
    return value;
  }

 private:
  void reset() { ensure(sqlite3_reset(statement_) == SQLITE_OK); }

  void ensure(bool fine) const {
    if (!fine) {
      throw std::runtime_error(fmt::format("sqlite: {}", sqlite3_errmsg(connection_)));
    }
  }

  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
};

/// The connection and its statements.
/// Thread-safety: the caller holds `mutex`.
struct Connection {
  explicit Connection(const std::string& file) {
    if (sqlite3_open_v2(file.c_str(), &handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK) {
      const std::string message = sqlite3_errmsg(handle);
      sqlite3_close(handle);
      throw std::runtime_error(fmt::format("sqlite: open: {}", message));
    }
  }
  ~Connection() { sqlite3_close(handle); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const std::string& text) const {
    char* message = nullptr;
    if (sqlite3_exec(handle, text.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
      const std::string copy = message == nullptr ? "unknown" : message;
      sqlite3_free(message);
      throw std::runtime_error(fmt::format("sqlite: {}: {}", text, copy));
    }
  }

  std::mutex mutex;
  sqlite3* handle = nullptr;
};

struct Statements {
  explicit Statements(sqlite3* handle)
      : begin(handle, "BEGIN IMMEDIATE"),
        commit(handle, "COMMIT"),
        insert(handle, "INSERT INTO records VALUES(?1, ?2)"),
        select(handle, "SELECT value FROM records WHERE key = ?1"),
        update(handle, "UPDATE records SET value = ?2 WHERE key = ?1") {}

  Statement begin;
  Statement commit;
  Statement insert;
  Statement select;
  Statement update;
};

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

class SqliteSession final : public CommitSession {
 public:
  SqliteSession(Connection& connection, Statements& statements)
      : connection_(connection), statements_(statements) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    const std::lock_guard lock(connection_.mutex);
    statements_.begin.execute();
    statements_.select.bind_record(1, record);
    std::optional<Value> value = statements_.select.value();
    if (!value) {
      throw DamagedRecord(fmt::format("sqlite: record {} is missing", record));
    }
    std::memcpy(value->data() + offset, bytes.data(), bytes.size());
    statements_.update.bind_record(1, record);
    statements_.update.bind_value(2, *value);
    statements_.update.execute();
    statements_.commit.execute();
  }

  std::optional<Value> read(std::uint64_t record) override {
    const std::lock_guard lock(connection_.mutex);
    statements_.select.bind_record(1, record);
    return statements_.select.value();
  }

 private:
  Connection& connection_;
  Statements& statements_;
};

class SqliteEngine final : public CommitEngine {
 public:
  explicit SqliteEngine(const CommitSettings& settings)
      : settings_(settings),
        file_((settings.directory / "records.sqlite").string()),
        connection_(std::make_unique<Connection>(file_)) {
    const bool synchronous = settings.durability == Durability::synchronous;
    connection_->execute(fmt::format(
        "PRAGMA page_size={}; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; "
        "PRAGMA synchronous={}; PRAGMA cache_size=-{}; "
        "CREATE TABLE IF NOT EXISTS records(key INTEGER PRIMARY KEY, value BLOB NOT NULL)",
        kPageBytes, synchronous ? "FULL" : "NORMAL", kCacheKib));
    statements_ = std::make_unique<Statements>(connection_->handle);
    // For an existing database the log exists only after the first write; a new one has been
    // written.
    statements_->begin.execute();
    statements_->commit.execute();
  }

  ~SqliteEngine() override {
    flusher_.reset();
    statements_.reset();
  }

  void load(std::uint64_t records) override {
    statements_->begin.execute();
    for (std::uint64_t record = 0; record < records; ++record) {
      const Value value = fresh_value(record);
      statements_->insert.bind_record(1, record);
      statements_->insert.bind_value(2, value);
      statements_->insert.execute();
    }
    statements_->commit.execute();
    connection_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
    if (settings_.durability == Durability::asynchronous) {
      flusher_ = std::make_unique<PeriodicTask>(
          settings_.flush_every,
          [log = std::make_shared<LogFile>(file_ + "-wal")] { log->sync(); });
    }
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<SqliteSession>(*connection_, *statements_);
  }

  LogCounts log_counts() const override {
    int pages = 0;
    int unused = 0;
    const std::lock_guard lock(connection_->mutex);
    if (sqlite3_db_status(connection_->handle, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &unused, 0) !=
        SQLITE_OK) {
      throw std::runtime_error("sqlite: the count of written pages is not available");
    }
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(pages) * (kPageBytes + kFrameHeaderBytes);
    return {.record_bytes = bytes, .log_bytes = bytes};
  }

  std::string durability_description() const override {
    if (settings_.durability == Durability::synchronous) {
      return "WAL, synchronous=FULL";
    }
    return fmt::format("WAL, synchronous=NORMAL, log synced every {} ms",
                       settings_.flush_every.count());
  }

  void close() override {
    if (flusher_) {
      flusher_->stop();
    }
    connection_->execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }

 private:
  CommitSettings settings_;
  std::string file_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Statements> statements_;
  std::unique_ptr<PeriodicTask> flusher_;
};

}  // namespace

CommitEngineEntry sqlite_engine() {
  return {.traits = {.name = "sqlite"},
          .open = [](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
            return std::make_unique<SqliteEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
