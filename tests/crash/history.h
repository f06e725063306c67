// The possible contents of a database after a crash, kept outside of the engine.
//
// One thread notes transactions in the order of their calls of commit(), which is also the order of
// their timestamps. Recovery keeps those up to its cut: the survivors are the first k of them, and
// no other mixture. That is stronger than "each wholly there or absent, closed under dependency, in
// the order of acknowledgement", and implies it. Thread-safety: one thread notes; any thread calls
// window(), also meanwhile, and the rest only while there are no notes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace palimpsest::crash {

using engine::test::Content;
/// The contents of all trees, by name, and of a table (table_workload.h).
using State = std::map<std::string, Content>;

/// The record has this value, or is absent, afterwards. An empty key: the tree or the table has
/// been made.
struct Change {
  std::string tree;
  std::string key;
  std::optional<std::string> value;
};

/// How many transactions of a history have been acknowledged, and how many have begun to commit.
struct Window {
  std::size_t acknowledged = 0;
  std::size_t begun = 0;
};

class History {
 public:
  explicit History(State base);

  /// Call it before commit() of these changes.
  void committing(std::vector<Change> changes);
  /// All transactions that have begun to commit are known to be durable.
  void acknowledge() noexcept { acknowledged_.store(begun_.load()); }

  [[nodiscard]] Window window() const noexcept { return {acknowledged_.load(), begun_.load()}; }
  [[nodiscard]] std::size_t size() const noexcept { return commits_.size(); }

  /// The state after the first `count` transactions.
  [[nodiscard]] State state_after(std::size_t count) const;
  /// The number of transactions that lead to this state, if the window allows it.
  [[nodiscard]] std::optional<std::size_t> count_of(const State& found, Window window) const;
  /// Why count_of() has found nothing: the difference to the nearest state.
  [[nodiscard]] std::string explain(const State& found, Window window) const;

 private:
  const State base_;
  std::vector<std::vector<Change>> commits_;
  std::vector<std::uint64_t> prints_;  ///< fingerprint of the state after each count
  State last_;
  std::atomic<std::size_t> acknowledged_{0};
  std::atomic<std::size_t> begun_{0};
};

/// The contents of the database.
[[nodiscard]] State state_of(engine::Engine& database);

/// The differences of the two, in a few lines; empty if there are none.
[[nodiscard]] std::string difference(const State& found, const State& expected);

}  // namespace palimpsest::crash
