#include "experiments/oltp/reader_turns.h"

#include <algorithm>
#include <vector>

#include "experiments/common/median.h"

namespace palimpsest::experiments::oltp {
namespace {

double seconds_between(const CommitMark& from, const CommitMark& to) noexcept {
  return to.seconds - from.seconds;
}

double commits_between(const CommitMark& from, const CommitMark& to) noexcept {
  return static_cast<double>(to.commits - from.commits);
}

double rate_without(const ReaderTurn& turn) noexcept {
  return commits_between(turn.settled, turn.ended) / seconds_between(turn.settled, turn.ended);
}

/// `rate`: without the reader. A loss after its end counts as the reader's.
double share_of(const ReaderTurn& turn, double rate) noexcept {
  const double left = commits_between(turn.opened, turn.settled) -
                      rate * seconds_between(turn.closed, turn.settled);
  return left / (rate * seconds_between(turn.opened, turn.closed));
}

}  // namespace

std::optional<ReaderShare> share_of(std::span<const ReaderTurn> turns) {
  if (turns.empty()) {
    return std::nullopt;
  }
  std::vector<double> shares;
  double before = rate_without(turns.front());
  for (const ReaderTurn& turn : turns) {
    const double after = rate_without(turn);
    shares.push_back(share_of(turn, (before + after) / 2));
    before = after;
  }
  return ReaderShare{.turns = shares.size(),
                     .median = median_of(shares),
                     .least = *std::ranges::min_element(shares),
                     .most = *std::ranges::max_element(shares)};
}

}  // namespace palimpsest::experiments::oltp
