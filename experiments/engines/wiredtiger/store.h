// WiredTiger as a store (connection.h has its settings).
//
// Data bytes: of the tables' files, with free blocks in them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "experiments/common/periodic_task.h"
#include "experiments/engines/store.h"
#include "experiments/engines/wiredtiger/connection.h"
#include "experiments/engines/wiredtiger/session.h"

namespace palimpsest::experiments {

class WiredTigerStore {
 public:
  using Session = WiredTigerSession;

  explicit WiredTigerStore(const StoreSettings& settings);

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  [[nodiscard]] bool has_log() const noexcept { return settings_.purpose != Purpose::key_values; }
  void create_tables() const;
  void check_tables() const;
  void start_flusher();

  const StoreSettings settings_;
  const std::vector<std::string> uris_;  ///< of the tables
  wiredtiger::Connection connection_;
  std::atomic<int> load_code_{0};  ///< what a session of a load has met at its end
  std::unique_ptr<PeriodicTask> flusher_;
};

static_assert(Store<WiredTigerStore>);

[[nodiscard]] StoreEntry<WiredTigerStore> wiredtiger_store();

}  // namespace palimpsest::experiments
