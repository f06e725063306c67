#include "experiments/oltp/tally.h"

#include <numeric>

namespace palimpsest::experiments::oltp {
namespace {

template <class Numbers>
std::uint64_t sum(const Numbers& numbers) noexcept {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

template <class Numbers>
void subtract(Numbers& from, const Numbers& numbers) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] -= numbers[i];
  }
}

template <class Numbers, class Counters>
void add(Numbers& to, const Counters& counters) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] += counters[i].load(std::memory_order_relaxed);
  }
}

}  // namespace

std::uint64_t Tally::all_commits() const noexcept {
  return sum(commits);
}

std::uint64_t Tally::all_rollbacks() const noexcept {
  return sum(rollbacks);
}

std::uint64_t Tally::all_conflicts() const noexcept {
  return sum(conflicts);
}

Tally Tally::since(const Tally& earlier) const {
  Tally later;
  later.commits = commits;
  later.rollbacks = rollbacks;
  later.conflicts = conflicts;
  subtract(later.commits, earlier.commits);
  subtract(later.rollbacks, earlier.rollbacks);
  subtract(later.conflicts, earlier.conflicts);
  later.latency_ns.reserve(latency_ns.size());
  for (std::size_t type = 0; type < latency_ns.size(); ++type) {
    later.latency_ns.push_back(latency_ns[type].since(earlier.latency_ns[type]));
  }
  return later;
}

void WorkerTally::add_to(Tally& tally) const noexcept {
  add(tally.rollbacks, rollbacks_);
  add(tally.conflicts, conflicts_);
  for (std::size_t type = 0; type < latency_ns_.size(); ++type) {
    latency_ns_[type].add_to(tally.latency_ns[type]);
    tally.commits[type] = tally.latency_ns[type].count();
  }
}

}  // namespace palimpsest::experiments::oltp
