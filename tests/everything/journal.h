// The operations of a process that may be killed at any moment, recorded in memory that it shares
// with its parent process, so that they survive a kill.
//
// A thread's transactions have consecutive numbers over all lives of the database. Each has a state
// and its steps: the change of one row, of one definition. A transaction is announced before its
// commit is called and acknowledged after that has returned:
//   acknowledged           must be found
//   announced only         may be found
//   not even announced     must not be found
//
// A step names what it replaces: rows and definitions have ids that are never used twice. So steps
// of different threads need no order, and two that replace the same thing are a lost update.
//
// Thread-safety: each thread writes to its own journal; steps of an announced transaction do not
// change any more, and all threads may read them.
#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace palimpsest::everything {

inline constexpr std::uint32_t kThreads = 4;

/// The id of a row or a definition as one transaction has written it; 0: there is none.
using Id = std::uint64_t;
inline constexpr std::int64_t kNoValue = -1;  ///< of a nullable column, none of whose values is < 0

/// A row, named by the writes that have made its parts.
struct RowState {
  Id id = 0;       ///< of the last write
  Id full_id = 0;  ///< of the last write that has set all columns
  Id body_id = 0;  ///< of the last write that has set the body
  Id schema = 0;   ///< the columns that the table had when all were set
  std::int64_t group = kNoValue;
  std::int64_t number = kNoValue;

  friend bool operator==(const RowState&, const RowState&) = default;
};

/// The value of a column in rows that are older than it.
enum class Fill : std::uint8_t { null = 1, constant, computed };

struct Step {
  enum class Kind : std::uint8_t { row = 1, table, index, add_column, drop_column, rename };

  Kind kind{};
  std::uint8_t table = 0;
  std::uint8_t index = 0;  ///< of an index: its number within the table
  Fill fill{};             ///< of a column that is added
  std::int64_t key = 0;    ///< of a row
  Id made = 0;             ///< the table's, which differs for another table of the same name
  Id before = 0;           ///< of the row, the table's columns or the index; 0: there was none
  Id column = 0;           ///< the column added or dropped
  RowState after{};        ///< of definitions only `id` matters; 0: it is gone
};

enum class CommitOutcome : std::uint8_t {
  unused = 0,
  open,
  announced,     ///< its commit has been called: it may be found
  acknowledged,  ///< and has returned
  given_up,      ///< it must not be found
};

struct Entry {
  std::atomic<CommitOutcome> outcome{CommitOutcome::unused};
  bool is_durable = false;  ///< its acknowledgement is a promise
  bool is_loose = false;    ///< at isolation none
  bool is_alone = false;    ///< a call without a transaction: it leaves no marker
  const char* what = "";    ///< for messages; a literal
  std::uint32_t steps_begin = 0;
  std::uint32_t steps_end = 0;
};

/// One thread's transactions of one life.
struct ThreadJournal {
  static constexpr std::uint32_t kEntriesMax = 100'000;
  static constexpr std::uint32_t kStepsMax = 1'000'000;

  std::uint64_t before = 0;             ///< the number of the last transaction before this life
  std::atomic<std::uint32_t> count{0};  ///< of entries
  std::array<Entry, kEntriesMax> entries;
  std::array<Step, kStepsMax> steps;

  [[nodiscard]] const Entry& at(std::uint64_t number) const { return entries[number - before - 1]; }
  [[nodiscard]] std::uint64_t last() const { return before + count.load(); }
  /// The last one that may be found.
  [[nodiscard]] std::uint64_t announced_last() const {
    std::uint64_t number = last();
    while (number > before && at(number).outcome != CommitOutcome::announced &&
           at(number).outcome != CommitOutcome::acknowledged) {
      --number;
    }
    return number;
  }
  [[nodiscard]] static bool is_promised(const Entry& entry, bool any) {
    const bool has_changes = !entry.is_alone || entry.steps_end != entry.steps_begin;
    return entry.outcome == CommitOutcome::acknowledged && (any || entry.is_durable) && has_changes;
  }
  /// The last one that must be found; of all acknowledged ones, or of the durable ones only.
  [[nodiscard]] std::uint64_t promised_last(bool any) const {
    std::uint64_t number = last();
    while (number > before && !is_promised(at(number), any)) {
      --number;
    }
    return number;
  }
};

using Positions = std::array<std::uint64_t, kThreads>;

/// A call of the engine that has not returned.
struct CallInProgress {
  std::atomic<const char*> what{nullptr};
  std::atomic<std::int64_t> since_ns{0};
  std::atomic<int> thread_id{0};
};

inline constexpr int kBackupBegun = 1;
inline constexpr int kBackupMade = 2;
inline constexpr int kBackupFailed = 3;

/// All that a process under test and the one that judges it share.
struct Shared {
  std::array<ThreadJournal, kThreads> threads;
  std::array<CallInProgress, kThreads + 1> calls;  ///< the last one: of opening, judging, closing
  std::array<std::atomic<std::uint64_t>, 64> counts;  ///< operations done, by kind
  std::atomic<bool> is_failed{false};
  std::array<char, 4000> failure;

  // The one backup of a life.
  std::atomic<int> backup{0};  ///< 0: none
  Positions backup_lower{};
  Positions backup_upper{};

  Positions found{};  ///< by the judge

  /// The first fault is kept.
  void fail(std::string_view text) {
    if (!is_failed.exchange(true)) {
      const std::size_t size = text.copy(failure.data(), failure.size() - 1);
      failure[size] = '\0';
    }
  }
};

/// The memory itself, of zeros; pages that were never touched take none.
class SharedMemory {
 public:
  SharedMemory() {
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("no shared memory");
    }
    shared_ = static_cast<Shared*>(memory);
  }
  ~SharedMemory() { ::munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] Shared& operator*() const noexcept { return *shared_; }
  [[nodiscard]] Shared* operator->() const noexcept { return shared_; }

 private:
  Shared* shared_ = nullptr;
};

[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// While it lives, names the call that a thread is in; nested calls are counted.
class Call {
 public:
  Call(CallInProgress& slot, const char* what);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  CallInProgress& slot_;
  const char* before_;
};

}  // namespace palimpsest::everything
