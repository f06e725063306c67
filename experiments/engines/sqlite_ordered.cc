// SQLite: a B-tree with a write-ahead log of whole pages; one writer, readers beside it.
//
// Settings, from the SQLite documentation ("Write-Ahead Logging", "PRAGMA synchronous"):
// journal_mode=WAL; synchronous=NORMAL, with which a commit does not wait for the disk. Each
// session and each reader has a connection of its own, and these share `memory_bytes` as their page
// caches.
// A checkpoint every 1,000 pages is the default; an open reader keeps it from resetting the log.
#include <fmt/format.h>
#include <sqlite3.h>

#include <stdexcept>

#include "experiments/engines/ordered_engine.h"

namespace palimpsest::experiments::engines {
namespace {

constexpr int kBusyMs = 10'000;

/// A connection to the file.
class Connection {
 public:
  Connection(const std::string& file, std::uint64_t cache_bytes) {
    const int code = sqlite3_open(file.c_str(), &handle_);
    try {
      ensure(code, "open");
      ensure(sqlite3_busy_timeout(handle_, kBusyMs), "set the busy timeout");
      execute(
          fmt::format("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
                      "PRAGMA cache_size=-{}; CREATE TABLE IF NOT EXISTS "
                      "records(id INTEGER PRIMARY KEY, value BLOB NOT NULL)",
                      cache_bytes >> 10U));
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
  void execute(const std::string& text) const {
    ensure(sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr), text.c_str());
  }
  /// Throws SQLite's message unless the code says success.
  void ensure(int code, const char* what) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
      throw std::runtime_error(fmt::format("sqlite: {}: {}", what, sqlite3_errmsg(handle_)));
    }
  }

 private:
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Destroyed before its connection.
class Statement {
 public:
  Statement(const Connection& connection, const char* text) : connection_(connection) {
    connection_.ensure(sqlite3_prepare_v3(connection.handle(), text, -1, SQLITE_PREPARE_PERSISTENT,
                                          &statement_, nullptr),
                       text);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::uint64_t key) {
    connection_.ensure(sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(key)),
                       "bind a key");
  }
  /// The bytes stay until run() has returned.
  void bind(int index, ByteView value) {
    connection_.ensure(sqlite3_bind_blob(statement_, index, value.data(),
                                         static_cast<int>(value.size()), SQLITE_STATIC),
                       "bind a value");
  }
  /// Runs it; the number in the first column of its first row, nothing if there is no row.
  std::optional<std::uint64_t> run() {
    const int code = sqlite3_step(statement_);
    connection_.ensure(code, sqlite3_sql(statement_));
    std::optional<std::uint64_t> found;
    if (code == SQLITE_ROW) {
      found = static_cast<std::uint64_t>(sqlite3_column_int64(statement_, 0));
    }
    connection_.ensure(sqlite3_reset(statement_), "reset a statement");
    return found;
  }

 private:
  const Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

class Session final : public OrderedSession {
 public:
  Session(const std::string& file, std::uint64_t cache_bytes) : connection_(file, cache_bytes) {}

  void begin() override { begin_.run(); }
  void commit() override { commit_.run(); }

  void insert(std::uint64_t key, ByteView value) override {
    insert_.bind(1, key);
    insert_.bind(2, value);
    insert_.run();
  }

  std::optional<std::uint64_t> take_first() override {
    const std::optional<std::uint64_t> key = first_.run();
    if (key) {
      erase_.bind(1, *key);
      erase_.run();
    }
    return key;
  }

  void replace_all(std::uint64_t records, ByteView value) override {
    begin();
    connection_.execute("DELETE FROM records");
    for (std::uint64_t key = 0; key < records; ++key) {
      insert(key, value);
    }
    commit();
  }

 private:
  Connection connection_;
  Statement begin_{connection_, "BEGIN IMMEDIATE"};
  Statement commit_{connection_, "COMMIT"};
  Statement insert_{connection_, "INSERT INTO records VALUES(?1, ?2)"};
  Statement first_{connection_, "SELECT id FROM records ORDER BY id LIMIT 1"};
  Statement erase_{connection_, "DELETE FROM records WHERE id = ?1"};
};

class Reader final : public OrderedReader {
 public:
  Reader(const std::string& file, std::uint64_t cache_bytes) : connection_(file, cache_bytes) {
    connection_.execute("BEGIN");
    connection_.execute("SELECT id FROM records LIMIT 1");  // takes the snapshot
  }

  std::uint64_t count() override {
    return Statement(connection_, "SELECT count(value) FROM records").run().value_or(0);
  }

 private:
  Connection connection_;
};

class Engine final : public OrderedEngine {
 public:
  explicit Engine(const OrderedSettings& settings)
      : file_((settings.directory / "records.sqlite").string()),
        cache_bytes_(settings.memory_bytes / 2) {
    const Connection first(file_, cache_bytes_);  // makes the table
  }

  std::unique_ptr<OrderedSession> open_session() override {
    return std::make_unique<Session>(file_, cache_bytes_);
  }
  std::unique_ptr<OrderedReader> open_reader() override {
    return std::make_unique<Reader>(file_, cache_bytes_);
  }
  std::string description() const override { return "WAL, synchronous=NORMAL"; }
  void close() override {}

 private:
  std::string file_;
  std::uint64_t cache_bytes_;
};

}  // namespace

OrderedEngineEntry sqlite_ordered() {
  return {.traits = {.name = "sqlite"}, .open = [](const OrderedSettings& settings) {
            return std::make_unique<Engine>(settings);
          }};
}

}  // namespace palimpsest::experiments::engines
