#include "txn/definer_waits.h"

#include <algorithm>

#include "txn/transaction.h"

namespace palimpsest::txn {

bool DefinerWaits::Awaited::is_writing() const noexcept {
  return transaction->oldest() != Transaction::kNoChange && transaction->life() == life;
}

const DefinerWaits::Wait* DefinerWaits::find(const Transaction& by) const noexcept {
  const auto found = std::ranges::find(waits_, &by, &Wait::by);
  return found == waits_.end() ? nullptr : &*found;
}

bool DefinerWaits::leads_to(const Wait& from, FunctionRef<bool(const Transaction&)> is_goal,
                            std::vector<const Wait*>& seen) const {
  if (std::ranges::find(seen, &from) != seen.end()) {
    return false;
  }
  seen.push_back(&from);
  return std::ranges::any_of(from.awaited, [&](const Awaited& awaited) {
    if (!awaited.is_writing()) {
      return false;
    }
    const Wait* const next = find(*awaited.transaction);
    return is_goal(*awaited.transaction) || (next != nullptr && leads_to(*next, is_goal, seen));
  });
}

std::optional<std::string> DefinerWaits::enter(const Transaction& by, std::string_view table,
                                               const std::vector<Awaited>& awaited) {
  const std::lock_guard lock(mutex_);
  for (const Awaited& one : awaited) {
    const Wait* const wait = one.is_writing() ? find(*one.transaction) : nullptr;
    std::vector<const Wait*> seen;
    if (wait != nullptr &&
        leads_to(*wait, [&](const Transaction& met) { return &met == &by; }, seen)) {
      return wait->table;
    }
  }
  waits_.push_back({.by = &by, .table = std::string(table), .awaited = awaited});
  return std::nullopt;
}

void DefinerWaits::leave(const Transaction& by) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(waits_, [&](const Wait& wait) { return wait.by == &by; });
}

bool DefinerWaits::waits_for_own(const Transaction& definer, const OwnWait& own) const {
  const std::lock_guard lock(mutex_);
  const Wait* const wait = find(definer);
  std::vector<const Wait*> seen;
  return wait != nullptr &&
         leads_to(*wait, [&](const Transaction& met) { return own.is_in_vain(met); }, seen);
}

}  // namespace palimpsest::txn
