// The transaction that another one is in conflict with, and whether waiting for it can help.
//
// Thread-safety: plain values; what they say of the other transaction is a hint, as it may end at
// any moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace palimpsest::txn {

class Transaction;

/// Nobody: what it was in conflict with has been committed already.
struct ConflictingWriter {
  const Transaction* transaction = nullptr;  ///< its slot's, which lives as long as the database
  std::uint64_t life = 0;                    ///< which of the slot's
  bool is_definer = false;                   ///< it changes the table's definition, or is a bulk

  /// Whether it has not ended.
  [[nodiscard]] bool is_active() const noexcept;
};

// One thread's waiting for others.
//
// A thread that waits for a transaction which only itself could end waits in vain. That is clear at
// once of one that is bound to it (transaction_thread.h). Of one that it has merely used last,
// another thread may be about to take over: it is believed after kGrace, in which no other thread
// has used it.
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
  /// Throws invalid_argument: `what` is held by a transaction of this thread.
  [[noreturn]] static void refuse(std::string_view what);

 private:
  std::chrono::steady_clock::time_point began_;
};

}  // namespace palimpsest::txn
