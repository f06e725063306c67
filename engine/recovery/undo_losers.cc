#include "engine/recovery/undo_losers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "txn/undo.h"

namespace palimpsest::engine {
namespace {

/// Bytes of the loser's slot log that undo may have to read.
std::uint64_t bytes_of(const LoserTransaction& loser) noexcept {
  return loser.undo_next == wal::kNoLsn ? 0 : raw(loser.undo_next) - raw(loser.name.first) + 1;
}

/// The state that the threads share.
class Undo {
 public:
  Undo(std::span<const LoserTransaction> losers, const UndoParts& parts)
      : losers_(losers), parts_(parts), meter_(parts.progress, RecoveryPhase::undo, total()) {}

  /// Undoes one loser after the other until none is left or one fails.
  void work() noexcept {
    try {
      run();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) {
        failure_ = std::current_exception();
      }
      next_.store(losers_.size());
    }
  }
  void finish() {
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    meter_.finish();
  }

 private:
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t bytes = 0;
    for (const LoserTransaction& loser : losers_) {
      bytes += bytes_of(loser);
    }
    return bytes;
  }

  void run() {
    const auto slot = parts_.slots.claim(SlotId{0});
    check(slot.has_value(), "recovery is the only user of the slots");
    parts_.slots[*slot].merge(parts_.clock.now());
    {
      wal::TransactionLog log(parts_.log, parts_.clock, *slot);
      for (std::size_t i = next_.fetch_add(1); i < losers_.size(); i = next_.fetch_add(1)) {
        const LoserTransaction& loser = losers_[i];
        undo(loser, log);
        const std::lock_guard lock(mutex_);
        done_ += bytes_of(loser);
        meter_.at(done_);
      }
    }
    parts_.slots.release(*slot);
  }

  void undo(const LoserTransaction& loser, wal::TransactionLog& log) {
    try {
      txn::roll_back(
          {.name = loser.name, .undo_next = loser.undo_next, .newest_chunk = loser.newest_chunk},
          parts_.segments, log, parts_.trees);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corruption) {
        throw;
      }
      throw Error(error.code(),
                  fmt::format("a transaction interrupted by a crash cannot be undone, and its "
                              "changes would stay: {}; restore a backup, or copy what can be read "
                              "of it into a new database: palimpsest salvage",
                              error.what()));
    }
  }

  const std::span<const LoserTransaction> losers_;
  const UndoParts& parts_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  // Protected by mutex_:
  ProgressMeter meter_;
  std::uint64_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void undo_losers(std::span<const LoserTransaction> losers, const UndoParts& parts) {
  if (losers.empty()) {
    return;
  }
  Undo undo(losers, parts);
  {
    std::vector<std::jthread> threads;
    const std::size_t wanted = std::min<std::size_t>(parts.threads, parts.slots.slots_max());
    const std::size_t others = std::min(std::max<std::size_t>(wanted, 1), losers.size()) - 1;
    threads.reserve(others);
    for (std::size_t i = 0; i < others; ++i) {
      threads.push_back(
          start_thread<std::jthread>("that undoes transactions", [&] { undo.work(); }));
    }
    undo.work();
  }
  undo.finish();
}

}  // namespace palimpsest::engine
