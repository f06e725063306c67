// What a long reader costs, found within one run: it is open for some time, and closed for as long,
// by turns, so that both see the machine as it is in the same seconds.
//
// The first half of the time after a turn is the reader's, too: what its versions leave is cleared
// away then. The second half says what there would be without it.
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

/// What is left of the throughput beside the reader, of 1.
struct ReaderShare {
  std::size_t turns = 0;
  double median = 0;
  double least = 0;
  double most = 0;
};

/// Nothing without turns. Each is compared with what there was after it, and after the one before.
[[nodiscard]] std::optional<ReaderShare> share_of(std::span<const ReaderTurn> turns);

}  // namespace palimpsest::experiments::oltp
