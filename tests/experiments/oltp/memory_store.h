// A store in memory, to test the driver without an engine: maps, and one transaction at a time. Its
// contents live as long as its disk, and faults can be injected.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments::oltp::test {

struct MemoryDisk {
  using Table = std::map<std::string, std::string, std::less<>>;

  std::mutex mutex;  ///< held by the open transaction; guards tables
  std::vector<Table> tables;
  int opened = 0;
  int closed = 0;
  StoreSettings last_settings;
  std::atomic<std::uint64_t> operations{0};
  std::atomic<std::uint64_t> rows_scanned{0};  ///< upwards
  /// Every n-th operation of a transaction that writes is a conflict; 0: none. In loads, only
  /// commits are. Read-only transactions get none, so that checks do not, whenever they run.
  std::uint64_t conflict_every = 0;
  std::atomic<int> sessions_until_failure{-1};  ///< the one that cannot be opened; negative: none
  std::atomic<int> commits_until_failure{-1};   ///< likewise
};

class MemorySession {
 public:
  MemorySession(MemoryDisk& disk, SessionUse use) : disk_(disk), use_(use) {}

  void begin(Intent intent) {
    check(!lock_.owns_lock(), "a transaction in a transaction");
    lock_ = std::unique_lock(disk_.mutex);
    intent_ = intent;
  }

  Access commit() {
    if (disk_.commits_until_failure.fetch_sub(1) == 0) {
      rollback();
      throw std::runtime_error("the disk is gone");
    }
    if (is_nth()) {
      rollback();
      return Access::conflict;
    }
    undo_.clear();
    lock_ = {};
    return Access::done;
  }

  void rollback() noexcept {
    for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
      (*undo)();
    }
    undo_.clear();
    lock_ = {};
  }

  template <class Use>
  Access get(TableId table, ByteView key, Use&& use) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto found = at(table).find(key);
    if (found == at(table).end()) {
      return Access::missing;
    }
    use(ByteView(found->second));
    return Access::done;
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    const auto found = at(table).find(key);
    if (found == at(table).end()) {
      return Access::missing;
    }
    (void)change(ByteView(found->second));  // as an engine may that has to begin anew
    std::string value(change(ByteView(found->second)));
    // By key: the row may be erased and inserted again before.
    undo_.emplace_back(
        [&rows = at(table), before = *found] { rows.at(before.first) = before.second; });
    found->second = std::move(value);
    return Access::done;
  }

  Access insert(TableId table, ByteView key, ByteView value) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    if (!at(table).emplace(key, value).second) {
      return Access::exists;
    }
    undo_.emplace_back([&rows = at(table), inserted = std::string(key)] { rows.erase(inserted); });
    return Access::done;
  }

  Access erase(TableId table, ByteView key) {
    if (meets_conflict_writing()) {
      return Access::conflict;
    }
    const auto found = at(table).find(key);
    if (found == at(table).end()) {
      return Access::missing;
    }
    undo_.emplace_back([&rows = at(table), row = *found] { rows.insert(row); });
    at(table).erase(found);
    return Access::done;
  }

  template <class Visit>
  Access scan(TableId table, ByteView first, ByteView last, Direction direction, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto begin = at(table).lower_bound(first);
    auto end = at(table).upper_bound(last);
    if (direction == Direction::forward) {
      for (auto row = begin; row != end; ++row) {
        ++disk_.rows_scanned;
        if (!visit(ByteView(row->first), ByteView(row->second))) {
          break;
        }
      }
      return Access::done;
    }
    while (end != begin) {
      --end;
      if (!visit(ByteView(end->first), ByteView(end->second))) {
        break;
      }
    }
    return Access::done;
  }

  [[nodiscard]] ConflictReason conflict_reason() const noexcept { return ConflictReason::deadlock; }

 private:
  MemoryDisk::Table& at(TableId table) {
    check(lock_.owns_lock(), "an operation outside a transaction");
    return disk_.tables.at(index_of(table));
  }
  bool meets_conflict() {
    check(lock_.owns_lock(), "an operation outside a transaction");
    return use_ == SessionUse::read_write && is_nth();
  }
  bool is_nth() {
    return intent_ == Intent::read_write && disk_.conflict_every != 0 &&
           disk_.operations.fetch_add(1) % disk_.conflict_every == disk_.conflict_every - 1;
  }
  bool meets_conflict_writing() {
    check(intent_ == Intent::read_write, "a write of a transaction that was to read only");
    return meets_conflict();
  }

  MemoryDisk& disk_;
  SessionUse use_;
  std::unique_lock<std::mutex> lock_;
  std::vector<std::function<void()>> undo_;
  Intent intent_ = Intent::read_only;
};

class MemoryStore {
 public:
  using Session = MemorySession;

  MemoryStore(std::shared_ptr<MemoryDisk> disk, const StoreSettings& settings)
      : disk_(std::move(disk)) {
    ++disk_->opened;
    disk_->last_settings = settings;
    disk_->tables.resize(settings.tables.size());
  }

  std::unique_ptr<Session> open_session(SessionUse use) {
    if (disk_->sessions_until_failure.fetch_sub(1) == 0) {
      throw std::runtime_error("no more sessions");
    }
    return std::make_unique<Session>(*disk_, use);
  }
  void finish_load() {}
  [[nodiscard]] StoreCounts counts() const { return {.version_bytes = 77}; }
  [[nodiscard]] std::string description() const { return "maps in memory"; }
  [[nodiscard]] EngineOptions effective_options() const {
    return {{.name = "tables", .value = std::to_string(disk_->tables.size())}};
  }
  void close() { ++disk_->closed; }

 private:
  std::shared_ptr<MemoryDisk> disk_;
};

static_assert(Store<MemoryStore>);

inline StoreTraits memory_traits() {
  return {.name = "memory", .isolations = {Isolation::none}, .durabilities = {Durability::async}};
}

/// An engine on that disk.
inline StoreEntry<MemoryStore> memory_store(std::shared_ptr<MemoryDisk> disk) {
  return {.traits = memory_traits(),
          .open = [disk = std::move(disk)](const StoreSettings& settings) {
            return std::make_unique<MemoryStore>(disk, settings);
          }};
}

}  // namespace palimpsest::experiments::oltp::test
