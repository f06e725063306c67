// WiredTiger: transactions over a B+-tree with in-memory update chains and a log (MongoDB's
// engine).
//
// Settings, from the WiredTiger documentation ("Commit-level durability", "Transactional API",
// "Checkpoints", "Log cursors", wiredtiger_open, WT_CURSOR::modify):
// - log=(enabled), which includes group commit: threads join a log slot, one writes and syncs it.
// - Synchronous: transaction_sync=(enabled,method=dsync), the log opened with O_DSYNC: faster here
//   than method=fsync with two threads and more, whose stalls reach half a second. Asynchronous:
//   not enabled; a thread calls WT_SESSION::log_flush(sync=on) every so many milliseconds.
// - One session and one cursor per thread. Transactions at snapshot isolation: search, change,
//   update, commit; repeated after WT_ROLLBACK.
// - --delta: WT_CURSOR::modify instead of search and update; the log then carries the changed bytes
//   only. "Generally slower than the WT_CURSOR::update method", says its documentation.
// - checkpoint=(wait) in seconds by its own thread; shorter intervals are rounded up to one.
// - statistics=(fast), for the log's counters; everything fits the cache.
// Log bytes: log_bytes_payload counts records with their headers, log_bytes_written what remains
// after each is padded to the log's alignment.
#include <fmt/format.h>
#include <wiredtiger.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "experiments/common/periodic_task.h"
#include "experiments/log_bench/peer_engines.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments {
namespace {

using wiredtiger::ensure;
using wiredtiger::item_of;

constexpr const char* kTable = "table:records";
constexpr const char* kSynchronous = "enabled=true,method=dsync";

/// A session that is closed with its owner.
class OpenSession {
 public:
  explicit OpenSession(WT_CONNECTION* connection) {
    ensure(connection->open_session(connection, nullptr, "isolation=snapshot", &session_),
           "open a session");
  }
  ~OpenSession() { session_->close(session_, nullptr); }  // closes its cursors too
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

  [[nodiscard]] WT_SESSION* get() const noexcept { return session_; }

  [[nodiscard]] WT_CURSOR* open_cursor(const char* uri, const char* config) const {
    WT_CURSOR* cursor = nullptr;
    ensure(session_->open_cursor(session_, uri, nullptr, config, &cursor), "open a cursor");
    return cursor;
  }

 private:
  WT_SESSION* session_ = nullptr;
};

class WiredTigerSession final : public CommitSession {
 public:
  WiredTigerSession(WT_CONNECTION* connection, bool delta)
      : session_(connection), cursor_(session_.open_cursor(kTable, nullptr)), delta_(delta) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    WT_SESSION* const session = session_.get();
    const RecordKey key(record);
    for (;;) {
      ensure(session->begin_transaction(session, nullptr), "begin");
      set_key(key);
      const int code = delta_ ? modify(offset, bytes) : replace(offset, bytes);
      if (code == WT_ROLLBACK) {  // another thread's update of the same record came first
        ensure(session->rollback_transaction(session, nullptr), "rollback");
        continue;
      }
      ensure(code, "update");
      ensure(session->commit_transaction(session, nullptr), "commit");  // resets the cursor
      return;
    }
  }

  std::optional<Value> read(std::uint64_t record) override {
    const RecordKey key(record);
    set_key(key);
    const int code = cursor_->search(cursor_);
    if (code == WT_NOTFOUND) {
      return std::nullopt;
    }
    ensure(code, "search");
    WT_ITEM item = {};
    ensure(cursor_->get_value(cursor_, &item), "read a value");
    std::optional<Value> value;
    if (item.size == kValueBytes) {
      std::memcpy(value.emplace().data(), item.data, kValueBytes);
    }
    ensure(cursor_->reset(cursor_), "reset");
    return value;
  }

 private:
  int replace(std::size_t offset, const Field& bytes) {
    if (const int code = cursor_->search(cursor_); code != 0) {
      return code;
    }
    WT_ITEM item = {};
    ensure(cursor_->get_value(cursor_, &item), "read a value");
    copy_.assign(static_cast<const char*>(item.data), item.size);
    copy_.replace(offset, bytes.size(), bytes.data(), bytes.size());
    item = item_of(copy_);
    cursor_->set_value(cursor_, &item);
    return cursor_->update(cursor_);
  }

  int modify(std::size_t offset, const Field& bytes) {
    WT_MODIFY change = {};
    change.data = item_of({bytes.data(), bytes.size()});
    change.offset = offset;
    change.size = bytes.size();
    return cursor_->modify(cursor_, &change, 1);
  }

  void set_key(const RecordKey& key) {
    WT_ITEM item = item_of(key.view());
    cursor_->set_key(cursor_, &item);
  }

  OpenSession session_;
  WT_CURSOR* cursor_;
  bool delta_;
  std::string copy_;
};

class WiredTigerEngine final : public CommitEngine {
 public:
  explicit WiredTigerEngine(const CommitSettings& settings) : settings_(settings) {
    const auto checkpoint_seconds = std::max<std::int64_t>(
        1, std::chrono::ceil<std::chrono::seconds>(settings.checkpoint_every).count());
    const std::string config = fmt::format(
        "create,cache_size={},session_max={},log=(enabled=true),transaction_sync=({}),"
        "checkpoint=(wait={}),statistics=(fast)",
        settings.memory_bytes, settings.sessions_max + 32,
        settings.durability == Durability::synchronous ? kSynchronous : "enabled=false",
        checkpoint_seconds);
    ensure(wiredtiger_open(settings.directory.c_str(), nullptr, config.c_str(), &connection_),
           "open");
    try {
      create_table();
      start_flusher();
    } catch (...) {
      connection_->close(connection_, nullptr);
      throw;
    }
  }

  ~WiredTigerEngine() override {
    flusher_.reset();
    if (connection_ != nullptr) {
      connection_->close(connection_, nullptr);
    }
  }

  void load(std::uint64_t records) override {
    const OpenSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(kTable, "bulk");
    for (std::uint64_t record = 0; record < records; ++record) {
      const RecordKey key(record);
      const Value value = fresh_value(record);
      WT_ITEM key_item = item_of(key.view());
      WT_ITEM value_item = item_of(view_of(value));
      cursor->set_key(cursor, &key_item);
      cursor->set_value(cursor, &value_item);
      ensure(cursor->insert(cursor), "insert");
    }
    ensure(cursor->close(cursor), "close the bulk cursor");
    ensure(session.get()->checkpoint(session.get(), nullptr), "checkpoint");
  }

  std::unique_ptr<CommitSession> open_session() override {
    return std::make_unique<WiredTigerSession>(connection_, settings_.delta);
  }

  LogCounts log_counts() const override {
    const OpenSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor("statistics:", nullptr);
    return {.record_bytes = statistic(cursor, WT_STAT_CONN_LOG_BYTES_PAYLOAD),
            .log_bytes = statistic(cursor, WT_STAT_CONN_LOG_BYTES_WRITTEN)};
  }

  std::string durability_description() const override {
    if (settings_.durability == Durability::synchronous) {
      return fmt::format("transaction_sync=({}), group commit", kSynchronous);
    }
    return fmt::format("log_flush(sync=on) every {} ms", settings_.flush_every.count());
  }

  void close() override {
    if (flusher_) {
      flusher_->stop();
      flusher_.reset();  // its session ends before the connection
    }
    WT_CONNECTION* const closing = std::exchange(connection_, nullptr);
    ensure(closing->close(closing, "leak_memory=true"), "close");  // checkpoints all tables
  }

 private:
  void create_table() {
    const OpenSession session(connection_);
    ensure(session.get()->create(session.get(), kTable,
                                 "key_format=u,value_format=u,block_compressor=none"),
           "create the table");
  }

  void start_flusher() {
    if (settings_.durability == Durability::asynchronous) {
      flusher_ = std::make_unique<PeriodicTask>(
          settings_.flush_every, [session = std::make_shared<OpenSession>(connection_)] {
            ensure(session->get()->log_flush(session->get(), "sync=on"), "flush the log");
          });
    }
  }

  static std::uint64_t statistic(WT_CURSOR* cursor, int key) {
    const char* description = nullptr;
    const char* printed = nullptr;
    std::uint64_t value = 0;
    cursor->set_key(cursor, key);
    ensure(cursor->search(cursor), "find a statistic");
    ensure(cursor->get_value(cursor, &description, &printed, &value), "read a statistic");
    return value;
  }

  CommitSettings settings_;
  WT_CONNECTION* connection_ = nullptr;
  std::unique_ptr<PeriodicTask> flusher_;
};

}  // namespace

CommitEngineEntry wiredtiger_engine() {
  return {.traits = {.name = "wiredtiger", .takes_delta = true, .checkpoints_by_time = true},
          .open = [](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
            return std::make_unique<WiredTigerEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
