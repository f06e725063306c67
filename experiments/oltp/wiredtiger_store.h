// WiredTiger as a store: B+-trees with update chains in memory, a cache, and a log (MongoDB's
// engine).
//
// Settings as in experiments/kv_bench/wiredtiger_engine.cc (cache, pages, direct I/O, eviction,
// bulk cursors) and experiments/log_bench/wiredtiger_engine.cc (log, statistics), which name their
// sources. Different, or in addition:
// - Transactions at snapshot isolation only: at read-committed an update takes a new snapshot, so
//   that another update between a read and this update would be lost.
// - Checkpoints once a minute, WiredTiger's usual interval, and as the log grows (peer_stores.h).
// Memory: only the cache's size can be set; the allocator takes more, up to as much again
// (experiments/oltp/comparison/plan.py has how much the comparison allows).
// Data bytes: of the tables' files, with free blocks in them.
#pragma once

#include <wiredtiger.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "experiments/common/periodic_task.h"
#include "experiments/oltp/store.h"
#include "experiments/oltp/wiredtiger_session.h"

namespace palimpsest::experiments::oltp {

class WiredTigerStore {
 public:
  using Session = WiredTigerSession;

  explicit WiredTigerStore(const StoreSettings& settings);
  ~WiredTigerStore();
  WiredTigerStore(const WiredTigerStore&) = delete;
  WiredTigerStore& operator=(const WiredTigerStore&) = delete;

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  void create_tables() const;
  void check_tables() const;
  void start_flusher();

  const StoreSettings settings_;
  const std::vector<std::string> uris_;  ///< of the tables
  WT_CONNECTION* connection_ = nullptr;
  std::atomic<int> load_code_{0};  ///< what a session of a load has met at its end
  std::unique_ptr<PeriodicTask> flusher_;
};

static_assert(Store<WiredTigerStore>);

[[nodiscard]] StoreEntry<WiredTigerStore> wiredtiger_store();

}  // namespace palimpsest::experiments::oltp
