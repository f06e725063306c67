// Which transaction must come before which, and why.
//
// Edges from transaction A to B:
//   ww  B has written the next version of a key after A's
//   wr  B has read the version that A has written
//   rw  B has written the next version after the one that A has read
// Made once, then read. Thread-safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/isolation/history.h"

namespace palimpsest::isolation {

enum class EdgeKind : std::uint8_t {
  ww = 1,
  wr = 2,
  rw = 4,
};

struct Edge {
  TransactionNumber to = 0;
  EdgeKind kind = EdgeKind::ww;
  KeyNumber key = 0;
};

class DependencyGraph {
 public:
  explicit DependencyGraph(std::uint32_t transactions) : starts_(transactions + 1) {}

  /// Ignores an edge from a transaction to itself.
  void add(TransactionNumber from, TransactionNumber to, EdgeKind kind, KeyNumber key);
  /// Called when all edges are there.
  void finish();

  [[nodiscard]] std::uint32_t transactions() const noexcept {
    return static_cast<std::uint32_t>(starts_.size() - 1);
  }
  [[nodiscard]] std::span<const Edge> from(TransactionNumber transaction) const {
    return std::span(edges_).subspan(starts_[transaction],
                                     starts_[transaction + 1] - starts_[transaction]);
  }
  [[nodiscard]] std::uint64_t edges() const noexcept { return edges_.size(); }

 private:
  struct Added {
    TransactionNumber from = 0;
    Edge edge{};
  };

  std::vector<Added> added_;
  std::vector<std::uint64_t> starts_;
  std::vector<Edge> edges_;
};

[[nodiscard]] const char* name_of(EdgeKind kind) noexcept;

}  // namespace palimpsest::isolation
