// A thread of the process under test: it runs one random activity after the other, and records the
// changes in its journal.
//
// Two lists of functions define what it can do: activities (activities.h), and the statements of a
// transaction (statements.h). Failure: std::runtime_error for a wrong result of a call; it names
// the call. Thread-safety: belongs to its thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/everything/rows.h"
#include "tests/everything/world.h"

namespace palimpsest::everything {

/// The properties of a life of the process.
struct Mix {
  std::uint64_t seed = 0;
  std::uint64_t life = 0;
  Options options{};
  bool is_small_disk = false;
  std::string ballast{};         ///< a file that occupies space of a small disk; empty: none
  std::uint64_t disk_bytes = 0;  ///< of a small disk
  std::string copy{};            ///< target of a backup
};

/// What the threads of a life share.
struct Life {
  Database& database;
  const Mix& mix;
  const World& world;  ///< at its beginning
  Shared& shared;
  std::atomic<bool> ends{false};
  /// Two transactions that change definitions would wait for each other: so one at a time does.
  std::mutex definers{};
};

/// A transaction cannot go on, which is expected now and then.
struct GivenUp {};

/// A table as a transaction sees it; it has not changed the table's columns since.
struct Target {
  std::uint8_t number = 0;
  Table table;
  TableColumns columns;
};

/// A transaction, or a call without one (null `in`), that is being recorded.
struct Scope {
  Transaction* in = nullptr;
  Isolation isolation{};
  bool is_bulk = false;
  std::optional<std::uint8_t> only{};  ///< the one table that it may use
  std::array<bool, kTables> has_written{};

  /// Whether what it reads stays until it has written.
  [[nodiscard]] bool keeps_snapshot() const {
    return isolation == Isolation::snapshot || isolation == Isolation::serializable;
  }
};

class Worker {
 public:
  Worker(Life& life, std::uint32_t thread);

  /// Runs until the life ends.
  void run();

  [[nodiscard]] Life& life() { return life_; }
  [[nodiscard]] Database& database() { return life_.database; }
  [[nodiscard]] const Mix& mix() const { return life_.mix; }
  [[nodiscard]] std::uint32_t thread() const { return thread_; }
  [[nodiscard]] ThreadJournal& journal() { return journal_; }

  // Chance

  [[nodiscard]] std::int64_t any(std::int64_t below) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.one_in(n); }

  // Calls

  /// Runs a call, with its name where a watch can read it.
  template <class Function>
  decltype(auto) call(const char* what, const Function& function) {
    const Call in_progress(life_.shared.calls[thread_], what);
    return function();
  }
  [[noreturn]] void fault(const std::string& what) const;

  // The journal

  /// A new transaction; with the database's default durability unless given.
  void begin(const char* what, bool is_durable, bool is_loose, bool is_alone);
  /// Its body is run again from its beginning.
  void begin_again();
  void announce() { entry().outcome = CommitOutcome::announced; }
  void end(bool is_committed) {
    entry().outcome = is_committed ? CommitOutcome::acknowledged : CommitOutcome::given_up;
  }
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] std::uint64_t number() const { return journal_.last(); }
  [[nodiscard]] Id new_id() { return (Id{thread_} + 1) << 56U | number() << 20U | ++ids_; }
  void note(const Step& step) { journal_.steps[entry().steps_end++] = step; }
  /// Removes its recorded steps: they were not done.
  void drop_steps() { entry().steps_end = entry().steps_begin; }
  void note_row(const Target& target, std::int64_t key, Id before, const RowState& after);

  /// Writes how far this thread has come.
  void write_marker(Scope& scope);
  /// A table that the scope may write to; throws GivenUp if there is none now.
  [[nodiscard]] Target target(Scope& scope);
  [[nodiscard]] Target target(Scope& scope, std::uint8_t number);
  /// Throws GivenUp for a conflict, and a fault for anything but done and the other one.
  void require(const Outcome& outcome, const char* what,
               std::optional<OutcomeKind> other = std::nullopt) const;
  /// Whether the error is an expected one.
  [[nodiscard]] bool is_expected(const Error& error) const;
  /// Checks that a row which another transaction may have written is committed and whole.
  void check_row(const RowView& row, bool is_dirty) const;

 private:
  [[nodiscard]] Entry& entry() {
    return journal_.entries[journal_.count.load(std::memory_order_relaxed) - 1];
  }

  Life& life_;
  std::uint32_t thread_;
  ThreadJournal& journal_;
  Random random_;
  std::uint64_t ids_ = 0;
};

}  // namespace palimpsest::everything
