// Measures the cost of a long reader within one run: it is open for some time, then closed for as
// long, alternately, so that both states see the same condition of the machine.
//
// The first half of the time after a turn counts as the reader's, too: the engine frees its
// versions then. The second half gives the throughput without it.
//
// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace palimpsest::experiments::oltp {

/// How many transactions had committed at a moment of the run.
struct CommitMark {
  double seconds = 0;
  std::uint64_t commits = 0;
};

struct ReaderTurn {
  CommitMark opened;
  CommitMark closed;
  CommitMark settled;  ///< half of the time without it has passed
  CommitMark ended;
};

/// The fraction of the throughput that is left beside the reader.
struct ReaderShare {
  std::size_t turns = 0;
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Nothing without turns. Each turn is compared with the time after it, and the time before it.
[[nodiscard]] std::optional<ReaderShare> share_of(std::span<const ReaderTurn> turns);

}  // namespace palimpsest::experiments::oltp
