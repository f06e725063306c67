#include "tests/isolation/dependency_graph.h"

namespace palimpsest::isolation {

void DependencyGraph::add(TransactionNumber from, TransactionNumber to, EdgeKind kind,
                          KeyNumber key) {
  if (from != to) {
    added_.push_back({.from = from, .edge = {.to = to, .kind = kind, .key = key}});
    ++starts_[from + 1];
  }
}

void DependencyGraph::finish() {
  for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
    starts_[i + 1] += starts_[i];
  }
  edges_.resize(added_.size());
  std::vector<std::uint64_t> next = starts_;
  for (const Added& added : added_) {
    edges_[next[added.from]++] = added.edge;
  }
  added_ = {};
}

const char* name_of(EdgeKind kind) noexcept {
  switch (kind) {
    case EdgeKind::ww: return "ww";
    case EdgeKind::wr: return "wr";
    case EdgeKind::rw: break;
  }
  return "rw";
}

}  // namespace palimpsest::isolation
