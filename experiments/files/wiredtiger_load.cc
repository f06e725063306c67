// WiredTiger: a bulk cursor, or an ordinary one, and a checkpoint.
//
// Settings, from the WiredTiger documentation ("Bulk-load", "Checkpoint durability", "Cache and
// eviction tuning"):
// - sorted: a bulk cursor, which takes rows in the order of their keys only.
// - shuffled: an ordinary cursor, each insert a transaction of its own; there is no other means.
// - No log: a checkpoint makes all rows durable at once.
// - Pages as in experiments/kv_bench/wiredtiger_engine.cc, which names its sources; two threads
//   that evict, as the machine has processors.
#include <fmt/format.h>
#include <wiredtiger.h>

#include <utility>

#include "experiments/files/load_engine.h"
#include "experiments/peers/wiredtiger.h"

namespace palimpsest::experiments::files {
namespace {

using wiredtiger::ensure;
using wiredtiger::item_of;
using wiredtiger::view_of;

constexpr const char* kTable = "table:lineitem";

class WiredTigerLoad final : public LoadEngine {
 public:
  explicit WiredTigerLoad(const LoadSettings& settings) : sorted_(settings.sorted) {
    const std::string config = fmt::format(
        "create,cache_size={},log=(enabled=false),checkpoint=(wait=0),"
        "eviction=(threads_min=1,threads_max=2)",
        settings.memory_bytes);
    ensure(wiredtiger_open(settings.directory.c_str(), nullptr, config.c_str(), &connection_),
           "open");
    try {
      ensure(connection_->open_session(connection_, nullptr, nullptr, &session_), "open a session");
      ensure(session_->create(session_, kTable,
                              "key_format=u,value_format=u,allocation_size=4KB,"
                              "internal_page_max=4096,leaf_page_max=4096,"
                              "prefix_compression=false,block_compressor=none"),
             "create the table");
    } catch (...) {
      connection_->close(connection_, nullptr);
      throw;
    }
  }
  ~WiredTigerLoad() override {
    if (connection_ != nullptr) {
      connection_->close(connection_, nullptr);
    }
  }

  void put(ByteView key, ByteView value) override {
    if (cursor_ == nullptr) {
      cursor_ = open_cursor(sorted_ ? "bulk" : nullptr);
    }
    WT_ITEM key_item = item_of(key);
    WT_ITEM value_item = item_of(value);
    cursor_->set_key(cursor_, &key_item);
    cursor_->set_value(cursor_, &value_item);
    ensure(cursor_->insert(cursor_), "insert");
  }

  void make_durable() override {
    if (cursor_ != nullptr) {
      WT_CURSOR* const closing = std::exchange(cursor_, nullptr);
      ensure(closing->close(closing), "close the cursor");
    }
    ensure(session_->checkpoint(session_, "force=true"), "checkpoint");
  }

  void settle() override {}

  void for_each(FunctionRef<void(ByteView key, ByteView value)> seen) override {
    WT_CURSOR* const cursor = open_cursor(nullptr);
    int code = cursor->next(cursor);
    for (; code == 0; code = cursor->next(cursor)) {
      WT_ITEM key = {};
      WT_ITEM value = {};
      ensure(cursor->get_key(cursor, &key), "read a key");
      ensure(cursor->get_value(cursor, &value), "read a value");
      seen(view_of(key), view_of(value));
    }
    ensure(code == WT_NOTFOUND ? 0 : code, "walk a cursor");
    ensure(cursor->close(cursor), "close the cursor");
  }

  std::string description() const override {
    return sorted_ ? "a bulk cursor, then a checkpoint"
                   : "inserts without a log, then a checkpoint";
  }

  void close() override {
    WT_CONNECTION* const closing = std::exchange(connection_, nullptr);
    ensure(closing->close(closing, "leak_memory=true"), "close");
  }

 private:
  [[nodiscard]] WT_CURSOR* open_cursor(const char* config) const {
    WT_CURSOR* cursor = nullptr;
    ensure(session_->open_cursor(session_, kTable, nullptr, config, &cursor), "open a cursor");
    return cursor;
  }

  const bool sorted_;
  WT_CONNECTION* connection_ = nullptr;
  WT_SESSION* session_ = nullptr;  ///< ends with its connection
  WT_CURSOR* cursor_ = nullptr;    ///< inserts rows; null before the first one
};

}  // namespace

LoadEngineEntry wiredtiger_load() {
  return {.traits = {.name = "wiredtiger"},
          .open = [](const LoadSettings& settings) -> std::unique_ptr<LoadEngine> {
            return std::make_unique<WiredTigerLoad>(settings);
          }};
}

}  // namespace palimpsest::experiments::files
