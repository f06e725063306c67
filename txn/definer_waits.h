// The wait-for graph of definers (transactions that change definitions): two that wait for each
// other are detected at once.
//
// A definer waits for every transaction that had published a change when it looked. A waiting
// definer is inside a call, so it ends no other transaction meanwhile. Edges lead from a definer to
// the transactions it waits for.
//
// Argument that every cycle is found: each definer enters its edges under mutex_, once, before it
// waits, and after that edges are only removed. So the definer that enters the last edge of a cycle
// finds it closed. It enters nothing, so exactly one definer is refused, and the others continue
// when it has ended. An edge to a transaction that has ended leads nowhere: the slot's `life`
// differs.
//
// Latching: mutex_, held briefly, nothing under it. Thread-safety: all functions, from any thread.
// Failure: bad_alloc, with nothing entered.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/function_ref.h"

namespace palimpsest::txn {

class OwnWait;
class Transaction;

class DefinerWaits {
 public:
  struct Awaited {
    const Transaction* transaction;
    std::uint64_t life;

    /// Whether it may still have undecided changes.
    [[nodiscard]] bool is_writing() const noexcept;
  };

  /// `by` is about to wait for `awaited`, because of this table. If one of them waits for `by`,
  /// directly or indirectly, enters nothing and returns the table that one waits for.
  [[nodiscard]] std::optional<std::string> enter(const Transaction& by, std::string_view table,
                                                 const std::vector<Awaited>& awaited);
  void leave(const Transaction& by) noexcept;

  /// Whether this definer waits, directly or indirectly, for a transaction that `own` would
  /// wait for in vain.
  [[nodiscard]] bool waits_for_own(const Transaction& definer, const OwnWait& own) const;

 private:
  struct Wait {
    const Transaction* by;
    std::string table;
    std::vector<Awaited> awaited;
  };

  // mutex_ held:
  [[nodiscard]] const Wait* find(const Transaction& by) const noexcept;
  [[nodiscard]] bool leads_to(const Wait& from, FunctionRef<bool(const Transaction&)> is_goal,
                              std::vector<const Wait*>& seen) const;

  mutable std::mutex mutex_;
  std::vector<Wait> waits_;  ///< protected by mutex_
};

}  // namespace palimpsest::txn
