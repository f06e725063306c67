// The transaction that another one conflicts with, and whether waiting for it can help.
//
// Thread-safety: plain values. What they say of the other transaction is a hint: it may end at any
// moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace palimpsest::txn {

class Transaction;

/// If null: the conflict was with a change that is already committed.
struct ConflictingWriter {
  const Transaction* transaction = nullptr;  ///< its slot's, valid as long as the database
  std::uint64_t life = 0;                    ///< which of the slot's transactions
  bool is_definer = false;                   ///< it changes the table's definition, or is a bulk

  /// Whether it has not ended.
  [[nodiscard]] bool is_active() const noexcept;
};

// One thread's wait for other transactions.
//
// A thread that waits for a transaction which only the thread itself could end waits in vain. For a
// transaction bound to the thread (transaction_thread.h) that is certain at once. For one that the
// thread merely used last, another thread may be about to take over: the wait counts as vain only
// if no other thread has used it for kGrace.
class OwnWait {
 public:
  static constexpr std::chrono::milliseconds kGrace{100};

  explicit OwnWait(
      std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now()) noexcept
      : began_(began) {}

  [[nodiscard]] bool is_in_vain(const Transaction& other) const noexcept;
  [[nodiscard]] bool is_in_vain(const ConflictingWriter& conflicting_writer) const noexcept {
    return conflicting_writer.is_active() && is_in_vain(*conflicting_writer.transaction);
  }
  /// Throws invalid_argument: a transaction of this thread holds `what`.
  [[noreturn]] static void refuse(std::string_view what);

 private:
  std::chrono::steady_clock::time_point began_;
};

}  // namespace palimpsest::txn
