// WiredTiger: B+-trees with update chains in memory, a cache, and a log (MongoDB's engine).
//
// A connection, and sessions that end with their owners. The settings for every benchmark, from the
// WiredTiger documentation ("Cache and eviction tuning", "System buffer cache", "Cursor
// operations", "Bulk-load", "Commit-level durability", "Transactional API", "Checkpoints", "Log
// cursors", wiredtiger_open, WT_SESSION::create, WT_CURSOR::modify):
// - cache_size is the memory.
// - direct_io=[data] when the data exceeds memory: no second copy of pages in the page cache;
//   access_pattern_hint=random then.
// - Pages of the size asked, allocation unit 4 KiB, prefix compression and block compressor off. At
//   Purpose::commits, where everything fits the cache, pages as they are by default.
// - Eviction threads up to the processors plus two, so that application threads need not evict.
// - One session and one cursor for each table per thread, reused.
// - Purpose::key_values: no log, no checkpoint during the run, no statistics;
//   isolation=read-committed: point operations need no snapshot. Each is a transaction of its own,
//   after which its cursor is reset.
// - Else transactions at snapshot isolation only: at read-committed an update takes a new snapshot,
//   so that another update between a read and this update would be lost.
// - log=(enabled), which includes group commit: threads join a log slot, one writes and syncs it.
//   Synchronous: transaction_sync=(enabled,method=dsync), the log opened with O_DSYNC: faster here
//   than method=fsync with two threads and more, whose stalls reach half a second. Asynchronous:
//   not enabled; a thread calls WT_SESSION::log_flush(sync=on) periodically.
// - Checkpoints once a minute, WiredTiger's usual interval, and as the log grows. At
//   Purpose::commits as asked, in seconds by its own thread; shorter intervals are rounded up to
//   one.
// - Loads in ascending order through a bulk cursor (one thread): pages are filled and written once.
// - --delta: WT_CURSOR::modify instead of search and update; the log then carries the changed bytes
//   only. "Generally slower than the WT_CURSOR::update method", says its documentation.
// - statistics=(fast), for the counters. Log bytes: log_bytes_payload counts records with their
//   headers, log_bytes_written what remains after each is padded to the log's alignment.
// Memory: only the cache's size can be set; the allocator takes more, up to as much again
// (experiments/common/cgroup.py has how much the comparisons allow).
// Thread-safety: a Connection, any thread; a Handle, one thread at a time.
// Failure: std::runtime_error with WiredTiger's message.
#pragma once

#include <wiredtiger.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "experiments/common/bytes.h"

namespace palimpsest::experiments::wiredtiger {

/// Throws WiredTiger's message if the code is not 0; `what` was to be done.
void ensure(int code, const char* what);
/// Whether there is something; throws any other error.
[[nodiscard]] inline bool is_there(int code, const char* what) {
  ensure(code == WT_NOTFOUND ? 0 : code, what);
  return code == 0;
}

[[nodiscard]] inline WT_ITEM item_of(ByteView bytes) {
  WT_ITEM item = {};
  item.data = bytes.data();
  item.size = bytes.size();
  return item;
}

[[nodiscard]] inline ByteView view_of(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

inline constexpr const char* kSynchronous = "enabled=true,method=dsync";
/// Sessions of the engine itself, of those that a connection may have.
inline constexpr std::uint32_t kSessionsOfItsOwn = 32;

class Connection {
 public:
  Connection(const std::filesystem::path& directory, const std::string& config);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] WT_CONNECTION* get() const noexcept { return handle_; }
  /// Checkpoints all tables. Nothing is called afterwards.
  void close();

 private:
  WT_CONNECTION* handle_ = nullptr;
};

/// A session that is closed with its owner, and its cursors with it.
class Handle {
 public:
  explicit Handle(const Connection& connection, const char* config = "isolation=snapshot");
  ~Handle() { session_->close(session_, nullptr); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] WT_SESSION* get() const noexcept { return session_; }
  [[nodiscard]] WT_CURSOR* open_cursor(const std::string& uri, const char* config = nullptr) const;
  void create(const std::string& uri, const std::string& config) const;
  void checkpoint() const { ensure(session_->checkpoint(session_, "force=true"), "checkpoint"); }

 private:
  WT_SESSION* session_ = nullptr;
};

void set_key(WT_CURSOR* cursor, ByteView key);
void set_value(WT_CURSOR* cursor, ByteView value);
/// Of the record that the cursor is on.
[[nodiscard]] ByteView key_at(WT_CURSOR* cursor);
[[nodiscard]] ByteView value_at(WT_CURSOR* cursor);
/// A figure, by a cursor on statistics.
[[nodiscard]] std::uint64_t statistic(WT_CURSOR* cursor, int key);

/// A table of pages of that size, without compression.
[[nodiscard]] std::string table_config(std::uint32_t page_bytes, bool fits_in_memory);

}  // namespace palimpsest::experiments::wiredtiger
