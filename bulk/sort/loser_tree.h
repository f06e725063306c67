// Merges several sources into ascending order: a tournament tree that remembers the losers.
//
// Each inner node holds the source that lost there; the winner advances. So the next record costs
// one comparison per level, along one path. Among equal keys, that of the first source comes first.
// Source: Knuth, The Art of Computer Programming 3, 5.4.1.
//
// Thread-safety: belongs to one thread. Failure: next() throws what sources throw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "bulk/sort/record_source.h"

namespace palimpsest::bulk {

class LoserTree {
 public:
  /// At least one source. They outlive this, and have not begun.
  explicit LoserTree(std::span<RecordSource* const> sources)
      : sources_(sources.begin(), sources.end()), losers_(sources.size()) {}

  /// Moves to the first record, then to the next; false at the end.
  [[nodiscard]] bool next() {
    if (has_begun_) {
      advance(winner_);
      replay(winner_);
    } else {
      begin();
    }
    return sources_[winner_] != nullptr;
  }
  /// The source of the current record.
  [[nodiscard]] const RecordSource& top() const noexcept { return *sources_[winner_]; }

 private:
  void begin() {
    has_begun_ = true;
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      advance(source);
    }
    winner_ = play(1);
  }
  /// A source that has ended becomes null, and loses every match.
  void advance(std::size_t source) {
    if (sources_[source] != nullptr && !sources_[source]->next()) {
      sources_[source] = nullptr;
    }
  }
  /// Nodes are numbered from the root, 1; the n sources are the leaves n to 2n - 1. Returns the
  /// winner below a node.
  [[nodiscard]] std::size_t play(std::size_t place) {
    if (place >= sources_.size()) {
      return place - sources_.size();
    }
    const std::size_t left = play(2 * place);
    const std::size_t right = play(2 * place + 1);
    const bool left_wins = is_before(left, right);
    losers_[place] = left_wins ? right : left;
    return left_wins ? left : right;
  }
  void replay(std::size_t source) noexcept {
    for (std::size_t place = (source + sources_.size()) / 2; place != 0; place /= 2) {
      if (is_before(losers_[place], source)) {
        std::swap(losers_[place], source);
      }
    }
    winner_ = source;
  }
  [[nodiscard]] bool is_before(std::size_t left, std::size_t right) const noexcept {
    const RecordSource* const a = sources_[left];
    const RecordSource* const b = sources_[right];
    if (a == nullptr || b == nullptr) {
      return b == nullptr && a != nullptr;
    }
    if (a->head() != b->head()) {
      return a->head() < b->head();
    }
    const int order = a->key().compare(b->key());
    return order != 0 ? order < 0 : left < right;
  }

  std::vector<RecordSource*> sources_;  ///< null: has ended
  std::vector<std::size_t> losers_;     ///< by inner node
  std::size_t winner_ = 0;
  bool has_begun_ = false;
};

}  // namespace palimpsest::bulk
