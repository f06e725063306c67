// Which transactions that change definitions wait for which others: so that two that wait for each
// other are told at once.
//
// A definer waits for all that had published a change when it looked, and one that does is in a
// call, so it ends none of them. Edges lead from it to those that it waits for.
//
// Argument that a circle is found: each definer enters its edges under mutex_, once, before it
// waits, and edges only go. So the definer that enters the last edge of a circle finds it closed.
// It does not enter, so that exactly one of them is refused, and the others go on when it has
// ended. An edge to a transaction that has ended leads nowhere: the slot's life tells.
//
// Latching: mutex_, held briefly, nothing under it. Thread-safety: all functions, from any thread.
// Failure: bad_alloc, and nothing was entered.
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

    /// Whether it may still have changed something that is not decided.
    [[nodiscard]] bool is_writing() const noexcept;
  };

  /// `by` is about to wait for these, for the sake of this table. If one of them waits for `by`,
  /// through others perhaps, nothing is entered: returns the table for whose sake that one waits.
  [[nodiscard]] std::optional<std::string> enter(const Transaction& by, std::string_view table,
                                                 const std::vector<Awaited>& awaited);
  void leave(const Transaction& by) noexcept;

  /// Whether this definer waits, through others perhaps, for a transaction that `own` would wait
  /// for in vain.
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
