// WiredTiger: a bulk cursor, and the truncation of a range.
//
// Settings, from the WiredTiger documentation ("Bulk-load", WT_SESSION::truncate, "Checkpoint
// durability", "Commit-level durability"):
// - ingest: a bulk cursor, which is not logged; a checkpoint makes its rows durable.
// - erase: WT_SESSION::truncate within one transaction, synced by its commit (log enabled,
//   transaction_sync).
// - reclaim: two checkpoints: the first writes the tree without the rows, the second frees the
//   blocks that the previous checkpoint had kept.
// - Pages as in experiments/kv_bench/wiredtiger_engine.cc, the log as in
//   experiments/log_bench/wiredtiger_engine.cc, which name their sources.
// Space: of the table's file, which shrinks only from its end; what the block manager can use again
// is the table's statistic block_reuse_bytes.
#include <fmt/format.h>
#include <wiredtiger.h>

#include <chrono>
#include <utility>

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/peer_ranges.h"
#include "experiments/common/record_key.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments::bulk {
namespace {

using wiredtiger::ensure;
using wiredtiger::item_of;
using wiredtiger::view_of;

constexpr const char* kTable = "table:records";
constexpr const char* kFile = "records.wt";

/// A session that is closed with its owner, and its cursors with it.
class WiredTigerSession {
 public:
  explicit WiredTigerSession(WT_CONNECTION* connection) {
    ensure(connection->open_session(connection, nullptr, "isolation=snapshot", &session_),
           "open a session");
  }
  ~WiredTigerSession() { session_->close(session_, nullptr); }
  WiredTigerSession(const WiredTigerSession&) = delete;
  WiredTigerSession& operator=(const WiredTigerSession&) = delete;

  [[nodiscard]] WT_SESSION* get() const noexcept { return session_; }
  [[nodiscard]] WT_CURSOR* open_cursor(const char* uri, const char* config) const {
    WT_CURSOR* cursor = nullptr;
    ensure(session_->open_cursor(session_, uri, nullptr, config, &cursor), "open a cursor");
    return cursor;
  }
  void checkpoint() const { ensure(session_->checkpoint(session_, "force=true"), "checkpoint"); }

 private:
  WT_SESSION* session_ = nullptr;
};

class WiredTigerRange final : public RangeEngine {
 public:
  explicit WiredTigerRange(const RangeSettings& settings) : file_(settings.directory / kFile) {
    const std::string config = fmt::format(
        "create,cache_size={},log=(enabled=true),transaction_sync=(enabled=true,method=dsync),"
        "checkpoint=(wait=0),statistics=(fast)",
        settings.memory_bytes);
    ensure(wiredtiger_open(settings.directory.c_str(), nullptr, config.c_str(), &connection_),
           "open");
    try {
      const WiredTigerSession session(connection_);
      ensure(session.get()->create(session.get(), kTable,
                                   "key_format=u,value_format=u,allocation_size=4KB,"
                                   "internal_page_max=4096,leaf_page_max=4096,"
                                   "prefix_compression=false,block_compressor=none"),
             "create the table");
    } catch (...) {
      connection_->close(connection_, nullptr);
      throw;
    }
  }

  ~WiredTigerRange() override {
    if (connection_ != nullptr) {
      connection_->close(connection_, nullptr);
    }
  }

  void ingest(std::uint64_t rows) override {
    const WiredTigerSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(kTable, "bulk");
    Row row;
    for (std::uint64_t number = 0; number < rows; ++number) {
      make_row(number, row);
      const RecordKey key(number);
      const RowValue value(row);
      WT_ITEM key_item = item_of(key.view());
      WT_ITEM value_item = item_of(value.view());
      cursor->set_key(cursor, &key_item);
      cursor->set_value(cursor, &value_item);
      ensure(cursor->insert(cursor), "insert");
    }
    ensure(cursor->close(cursor), "close the bulk cursor");
    session.checkpoint();
  }

  void erase_below(std::uint64_t end) override {
    if (end == 0) {
      return;
    }
    const WiredTigerSession session(connection_);
    WT_SESSION* const in = session.get();
    WT_CURSOR* const last = session.open_cursor(kTable, nullptr);
    const RecordKey key(end - 1);
    WT_ITEM item = item_of(key.view());
    last->set_key(last, &item);
    ensure(in->begin_transaction(in, nullptr), "begin");
    ensure(in->truncate(in, nullptr, nullptr, last, nullptr), "truncate");
    ensure(in->commit_transaction(in, nullptr), "commit");
  }

  double reclaim() override {
    const auto begin = std::chrono::steady_clock::now();
    const WiredTigerSession session(connection_);
    session.checkpoint();
    session.checkpoint();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  FoundRows find_rows(std::uint64_t rows_max) override {
    const WiredTigerSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(kTable, nullptr);
    FoundRows found;
    int code = cursor->next(cursor);
    for (; found.rows < rows_max && code == 0; code = cursor->next(cursor)) {
      WT_ITEM key = {};
      WT_ITEM value = {};
      ensure(cursor->get_key(cursor, &key), "read a key");
      ensure(cursor->get_value(cursor, &value), "read a value");
      see_row(found, record_of(view_of(key)), view_of(value));
    }
    ensure(code == WT_NOTFOUND ? 0 : code, "walk a cursor");
    return found;
  }

  std::optional<std::uint64_t> last_row() override {
    const WiredTigerSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(kTable, nullptr);
    const int code = cursor->prev(cursor);
    if (code == WT_NOTFOUND) {
      return std::nullopt;
    }
    ensure(code, "go to the last row");
    WT_ITEM key = {};
    ensure(cursor->get_key(cursor, &key), "read a key");
    return record_of(view_of(key));
  }

  Space space() override {
    const WiredTigerSession session(connection_);
    WT_CURSOR* const cursor = session.open_cursor("statistics:table:records", nullptr);
    return {.data_bytes = std::filesystem::file_size(file_),
            .reusable_bytes = statistic(cursor, WT_STAT_DSRC_BLOCK_REUSE_BYTES)};
  }

  std::optional<std::uint64_t> version_bytes() const override { return std::nullopt; }
  std::string description() const override {
    return "a bulk cursor, then a checkpoint; WT_SESSION::truncate, then checkpoints";
  }

  void close() override {
    WT_CONNECTION* const closing = std::exchange(connection_, nullptr);
    ensure(closing->close(closing, "leak_memory=true"), "close");  // checkpoints all tables
  }

 private:
  static std::uint64_t statistic(WT_CURSOR* cursor, int key) {
    const char* description = nullptr;
    const char* printed = nullptr;
    std::uint64_t value = 0;
    cursor->set_key(cursor, key);
    ensure(cursor->search(cursor), "find a statistic");
    ensure(cursor->get_value(cursor, &description, &printed, &value), "read a statistic");
    return value;
  }

  const std::filesystem::path file_;
  WT_CONNECTION* connection_ = nullptr;
};

}  // namespace

RangeEngineEntry wiredtiger_range() {
  return {.traits = {.name = "wiredtiger"},
          .open = [](const RangeSettings& settings) -> std::unique_ptr<RangeEngine> {
            return std::make_unique<WiredTigerRange>(settings);
          }};
}

}  // namespace palimpsest::experiments::bulk
