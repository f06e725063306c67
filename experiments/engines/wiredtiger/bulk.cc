// WiredTiger: a bulk cursor, or an ordinary one, and a checkpoint; the truncation of a range.
//
// Settings, from the WiredTiger documentation ("Bulk-load", WT_SESSION::truncate, "Checkpoint
// durability", "Commit-level durability", "Cache and eviction tuning"):
// - sorted: a bulk cursor, which takes rows in the order of their keys only, and is not logged; a
//   checkpoint makes its rows durable.
// - shuffled: an ordinary cursor, each insert a transaction of its own; there is no other means.
// - erase: WT_SESSION::truncate within one transaction, synced by its commit (log enabled,
//   transaction_sync). settle() is two checkpoints then: the first writes the tree without the
//   rows, the second frees the blocks that the previous checkpoint had kept.
// - restartable: no log: a checkpoint makes all rows durable at once; two threads that evict, as
//   the machine has processors.
// Space: of the table's file, which shrinks only from its end; what the block manager can use again
// is the table's statistic block_reuse_bytes.
#include <fmt/format.h>

#include <utility>

#include "experiments/engines/bulk_store.h"
#include "experiments/engines/wiredtiger/connection.h"

namespace palimpsest::experiments {
namespace {

using wiredtiger::ensure;
using wiredtiger::Handle;
using wiredtiger::is_there;
using wiredtiger::key_at;
using wiredtiger::value_at;

constexpr std::uint32_t kPageBytes = 4096;

std::string config_of(const BulkSettings& settings) {
  return fmt::format("create,cache_size={},checkpoint=(wait=0),{}", settings.memory_bytes,
                     settings.restartable
                         ? std::string("log=(enabled=false),eviction=(threads_min=1,threads_max=2)")
                         : fmt::format("log=(enabled=true),transaction_sync=({}),statistics=(fast)",
                                       wiredtiger::kSynchronous));
}

class WiredTigerBulk final : public BulkStore {
 public:
  explicit WiredTigerBulk(const BulkSettings& settings)
      : settings_(settings),
        table_(settings.restartable ? "lineitem" : "records"),
        connection_(settings.directory, config_of(settings)),
        session_(std::in_place, connection_) {
    session_->create(uri(), wiredtiger::table_config(kPageBytes, true));
  }

  void put(ByteView key, ByteView value) override {
    if (writer_ == nullptr) {
      writer_ = session_->open_cursor(uri(), settings_.sorted ? "bulk" : nullptr);
    }
    wiredtiger::set_key(writer_, key);
    wiredtiger::set_value(writer_, value);
    ensure(writer_->insert(writer_), "insert");
  }

  void make_durable() override {
    if (writer_ != nullptr) {
      WT_CURSOR* const closing = std::exchange(writer_, nullptr);
      ensure(closing->close(closing), "close the cursor");
    }
    session_->checkpoint();
  }

  void erase_through(ByteView key) override {
    const Handle session(connection_);
    WT_SESSION* const in = session.get();
    WT_CURSOR* const last = session.open_cursor(uri());
    wiredtiger::set_key(last, key);
    ensure(in->begin_transaction(in, nullptr), "begin");
    ensure(in->truncate(in, nullptr, nullptr, last, nullptr), "truncate");
    ensure(in->commit_transaction(in, nullptr), "commit");
  }

  void settle() override {
    if (!settings_.restartable) {
      session_->checkpoint();
      session_->checkpoint();
    }
  }

  void visit(FunctionRef<bool(ByteView key, ByteView value)> seen) override {
    const Handle session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(uri());
    while (is_there(cursor->next(cursor), "walk a cursor") &&
           seen(key_at(cursor), value_at(cursor))) {
    }
  }

  std::optional<std::string> last_key() override {
    const Handle session(connection_);
    WT_CURSOR* const cursor = session.open_cursor(uri());
    return is_there(cursor->prev(cursor), "go to the last row")
               ? std::optional(std::string(key_at(cursor)))
               : std::nullopt;
  }

  Space space() override {
    const Handle session(connection_);
    WT_CURSOR* const cursor = session.open_cursor("statistics:" + uri());
    return {.data_bytes = std::filesystem::file_size(settings_.directory / (table_ + ".wt")),
            .reusable_bytes = wiredtiger::statistic(cursor, WT_STAT_DSRC_BLOCK_REUSE_BYTES)};
  }

  std::string description() const override {
    if (!settings_.restartable) {
      return "a bulk cursor, then a checkpoint; WT_SESSION::truncate, then checkpoints";
    }
    return settings_.sorted ? "a bulk cursor, then a checkpoint"
                            : "inserts without a log, then a checkpoint";
  }

  void close() override {
    session_.reset();
    connection_.close();
  }

 private:
  [[nodiscard]] std::string uri() const { return "table:" + table_; }

  const BulkSettings settings_;
  const std::string table_;
  wiredtiger::Connection connection_;
  std::optional<Handle> session_;  ///< of the rows that are put
  WT_CURSOR* writer_ = nullptr;    ///< null before the first of them
};

}  // namespace

BulkEntry wiredtiger_bulk() {
  return {.traits = {.name = "wiredtiger"}, .open = [](const BulkSettings& settings) {
            return std::make_unique<WiredTigerBulk>(settings);
          }};
}

}  // namespace palimpsest::experiments
