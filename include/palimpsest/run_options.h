// How Database::run() tries a transaction again.
//
// Thread-safety: RunOptions is a plain value; attempts belong to the call of run() that makes them.
#pragma once

#include <chrono>
#include <cstdint>

#include "palimpsest/error.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

namespace detail {

class DatabaseState;  // the engine's

/// Waits longer before each further attempt, for a random time.
class Backoff {
 public:
  explicit Backoff(unsigned attempts_max) noexcept : attempts_left_(attempts_max) {}

  /// Waits; false if there has been the last attempt, or it is no error that another could help.
  [[nodiscard]] bool wait_after(const Error& error);
  void wait();

 private:
  unsigned attempts_left_;
  std::chrono::microseconds longest_{20};  ///< of the next wait
};

/// The attempts of one run(), and what they were in conflict with.
class Attempts {
 public:
  Attempts(const DatabaseState& database, unsigned attempts_max) noexcept;

  /// This attempt has failed, and its transaction has not been dropped yet.
  void failed(const Transaction& transaction, const Error& error) noexcept;
  /// When the transaction is gone: as Backoff; a bulk, or a change of a definition, that was in the
  /// way is waited for, for Options::definition_patience in all, and that is no attempt. Throws
  /// invalid_argument if it was a transaction of this thread.
  [[nodiscard]] bool wait_after(const Error& error);

 private:
  /// Null: nobody.
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
  /// After so many conflicts the last one is thrown.
  unsigned attempts_max = 100;
  /// After version_budget_exceeded the body is called again in a bulk transaction of the same
  /// isolation (TransactionOptions::bulk says what that means for others), unless that is
  /// serializable.
  bool restart_as_bulk = true;
};

}  // namespace palimpsest
