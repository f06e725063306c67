// How Database::run() retries a transaction.
//
// Thread-safety: RunOptions is a plain value; an Attempts belongs to its call of run().
#pragma once

#include <chrono>
#include <cstdint>

#include "palimpsest/error.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

namespace detail {

class DatabaseState;  // the engine's

/// Waits a random time before each further attempt, up to a bound that grows.
class Backoff {
 public:
  explicit Backoff(unsigned attempts_max) noexcept : attempts_left_(attempts_max) {}

  /// Waits; returns false after the last attempt, or for an error that another attempt cannot cure.
  [[nodiscard]] bool wait_after(const Error& error);
  void wait();

 private:
  unsigned attempts_left_;
  std::chrono::microseconds longest_{20};  ///< of the next wait
};

/// The attempts of one run(), and what each was in conflict with.
class Attempts {
 public:
  Attempts(const DatabaseState& database, unsigned attempts_max) noexcept;

  /// This attempt has failed; its transaction still exists.
  void failed(const Transaction& transaction, const Error& error) noexcept;
  /// After the transaction is gone: as Backoff, but waits for a conflicting bulk or definition to
  /// end, for Options::definition_patience in all, which counts as no attempt. Throws
  /// invalid_argument if the conflict was with another transaction of this thread.
  [[nodiscard]] bool wait_after(const Error& error);

 private:
  /// Null: there is none.
  struct ConflictingWriter {
    const void* transaction = nullptr;
    std::uint64_t life = 0;
    bool is_definer = false;
  };

  const DatabaseState& database_;
  Backoff backoff_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  ConflictingWriter conflicting_writer_{};
};

}  // namespace detail

struct RunOptions {
  TransactionOptions transaction{};
  /// After this many conflicts the last one is thrown.
  unsigned attempts_max = 100;
  /// After version_budget_exceeded, call the body again in a bulk transaction of the same
  /// isolation, unless that is serializable. TransactionOptions::bulk says what a bulk means for
  /// other transactions.
  bool restart_as_bulk = true;
};

}  // namespace palimpsest
