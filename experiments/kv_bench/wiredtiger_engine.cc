// WiredTiger: a B+-tree with in-memory update chains and reconciliation (MongoDB's engine).
//
// Settings, from the WiredTiger documentation ("Cache and eviction tuning", "System buffer cache",
// "Cursor operations", "Bulk-load", wiredtiger_open, WT_SESSION::create):
// - cache_size is the memory. No log, no checkpoint during the run, no statistics.
// - direct_io=[data] when the data exceeds memory: no second copy of pages in the page cache.
// - Pages of the size asked, allocation unit 4 KiB, prefix compression and block compressor off;
//   access_pattern_hint=random for data larger than memory.
// - Eviction threads up to the processors plus two, so that application threads need not evict.
// - One session and one cursor per thread, reused, and reset after every operation.
// - isolation=read-committed: point operations need no snapshot.
// - Loads in ascending order through a bulk cursor (one thread): pages are filled and written once.
#include <fmt/format.h>
#include <wiredtiger.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "experiments/kv_bench/peer_engines.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments {
namespace {

using wiredtiger::ensure;
using wiredtiger::item_of;
using wiredtiger::view_of;

constexpr const char* kTable = "table:records";

class WiredTigerSession final : public KvSession {
 public:
  WiredTigerSession(WT_CONNECTION* connection, SessionUse use) {
    ensure(connection->open_session(connection, nullptr, "isolation=read-committed", &session_),
           "open a session");
    const bool bulk = use == SessionUse::load;
    int code = session_->open_cursor(session_, kTable, nullptr, bulk ? "bulk" : nullptr, &cursor_);
    if (code != 0) {
      session_->close(session_, nullptr);
      ensure(code, "open a cursor");
    }
    bulk_ = bulk;
  }

  ~WiredTigerSession() override { session_->close(session_, nullptr); }  // closes the cursor too

  void insert(ByteView key, ByteView value) override {
    set_key(key);
    set_value(value);
    int code = cursor_->insert(cursor_);
    if (code == EINVAL && bulk_) {  // a bulk cursor takes ascending keys only
      leave_bulk();
      set_key(key);
      set_value(value);
      code = cursor_->insert(cursor_);
    }
    ensure(code, "insert");
  }

  void finish_load() override {}

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    if (!search(key)) {
      return std::nullopt;
    }
    WT_ITEM value = {};
    ensure(cursor_->get_value(cursor_, &value), "read a value");
    std::memcpy(out.data(), value.data, std::min(out.size(), value.size));
    ensure(cursor_->reset(cursor_), "reset");
    return value.size;
  }

  bool update(ByteView key, RecordChange& change) override {
    for (;;) {
      if (!search(key)) {
        return false;
      }
      WT_ITEM value = {};
      ensure(cursor_->get_value(cursor_, &value), "read a value");
      copy_.assign(view_of(value));
      RecordChange attempt = change;
      attempt(copy_);
      set_value(copy_);
      const int code = cursor_->update(cursor_);
      ensure(cursor_->reset(cursor_), "reset");
      if (code == WT_ROLLBACK) {
        continue;  // another thread's update of the same record came first
      }
      ensure(code, "update");
      change = attempt;
      return true;
    }
  }

  void scan(ByteView from, ScanSink& sink) override {
    set_key(from);
    int exact = 0;
    int code = cursor_->search_near(cursor_, &exact);
    if (code == 0 && exact < 0) {
      code = cursor_->next(cursor_);
    }
    while (code == 0) {
      WT_ITEM key = {};
      WT_ITEM value = {};
      ensure(cursor_->get_key(cursor_, &key), "read a key");
      ensure(cursor_->get_value(cursor_, &value), "read a value");
      if (!sink.record(view_of(key), view_of(value))) {
        break;
      }
      code = cursor_->next(cursor_);
    }
    ensure(cursor_->reset(cursor_), "reset");
    if (code != WT_NOTFOUND) {
      ensure(code, "scan");
    }
  }

 private:
  [[nodiscard]] bool search(ByteView key) {
    set_key(key);
    const int code = cursor_->search(cursor_);
    if (code == WT_NOTFOUND) {
      return false;
    }
    ensure(code, "search");
    return true;
  }

  void set_key(ByteView key) {
    WT_ITEM item = item_of(key);
    cursor_->set_key(cursor_, &item);
  }

  void set_value(ByteView value) {
    WT_ITEM item = item_of(value);
    cursor_->set_value(cursor_, &item);
  }

  void leave_bulk() {
    ensure(cursor_->close(cursor_), "close the bulk cursor");
    ensure(session_->open_cursor(session_, kTable, nullptr, nullptr, &cursor_), "open a cursor");
    bulk_ = false;
  }

  WT_SESSION* session_ = nullptr;
  WT_CURSOR* cursor_ = nullptr;
  bool bulk_ = false;
  std::string copy_;
};

class WiredTigerEngine final : public KvEngine {
 public:
  explicit WiredTigerEngine(const EngineSettings& settings) : direct_(!settings.fits_in_memory) {
    const unsigned eviction_threads = std::min(20U, std::thread::hardware_concurrency() + 2);
    const std::string config = fmt::format(
        "create,cache_size={},session_max={},log=(enabled=false),checkpoint=(wait=0),"
        "statistics=(none),eviction=(threads_min=1,threads_max={}){}",
        settings.memory_bytes, settings.sessions_max + 32, eviction_threads,
        direct_ ? ",direct_io=[data]" : "");
    ensure(wiredtiger_open(settings.directory.c_str(), nullptr, config.c_str(), &connection_),
           "open");
    try {
      create_table(settings);
    } catch (...) {
      connection_->close(connection_, nullptr);
      throw;
    }
  }

  ~WiredTigerEngine() override {
    if (connection_ != nullptr) {
      connection_->close(connection_, nullptr);
    }
  }

  std::unique_ptr<KvSession> open_session(SessionUse use) override {
    return std::make_unique<WiredTigerSession>(connection_, use);
  }

  void finish_load() override {}
  EngineStats stats() const override { return {}; }
  std::string io_description() const override { return direct_ ? "direct" : "page cache"; }

  void close() override {
    WT_CONNECTION* const closing = std::exchange(connection_, nullptr);
    ensure(closing->close(closing, "leak_memory=true"), "close");  // checkpoints all tables
  }

 private:
  void create_table(const EngineSettings& settings) {
    WT_SESSION* session = nullptr;
    ensure(connection_->open_session(connection_, nullptr, nullptr, &session), "open a session");
    const std::uint32_t page = settings.page_bytes;
    const std::string config = fmt::format(
        "key_format=u,value_format=u,allocation_size=4KB,internal_page_max={},leaf_page_max={},"
        "prefix_compression=false,block_compressor=none{}",
        std::max(page, 4096U), page, direct_ ? ",access_pattern_hint=random" : "");
    ensure(session->create(session, kTable, config.c_str()), "create the table");
    ensure(session->close(session, nullptr), "close a session");
  }

  bool direct_;
  WT_CONNECTION* connection_ = nullptr;
};

}  // namespace

EngineEntry wiredtiger_engine() {
  return {.traits = {.name = "wiredtiger", .load_threads_max = 1, .memory_mib_min = 16},
          .open = [](const EngineSettings& settings) -> std::unique_ptr<KvEngine> {
            return std::make_unique<WiredTigerEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
