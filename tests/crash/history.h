// What a database may contain after a crash, kept outside of the engine.
//
// Transactions are noted in the order in which commit() is called, by one thread, so that is also
// the order of their timestamps. Recovery keeps those up to its cut: what survives is what the
// first k of them have left, and no other mixture. That is stronger than "each wholly there or
// absent, closed under dependency, in the order of acknowledgement", and implies it.
// Thread-safety: notes by one thread; window() by any, also meanwhile; the rest when nobody notes.
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
/// Of all trees, by name, and of a table (table_workload.h).
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

  /// commit() is about to be called for these changes.
  void committing(std::vector<Change> changes);
  /// Everything that has begun to commit is known to be durable.
  void acknowledge() noexcept { acknowledged_.store(begun_.load()); }

  [[nodiscard]] Window window() const noexcept { return {acknowledged_.load(), begun_.load()}; }
  [[nodiscard]] std::size_t size() const noexcept { return commits_.size(); }

  /// What the first `count` transactions leave.
  [[nodiscard]] State state_after(std::size_t count) const;
  /// How many transactions have left this, if they are as many as the window allows.
  [[nodiscard]] std::optional<std::size_t> count_of(const State& found, Window window) const;
  /// Why count_of() has found nothing: the difference to what is nearest.
  [[nodiscard]] std::string explain(const State& found, Window window) const;

 private:
  const State base_;
  std::vector<std::vector<Change>> commits_;
  std::vector<std::uint64_t> prints_;  ///< fingerprint of the state after each count
  State last_;
  std::atomic<std::size_t> acknowledged_{0};
  std::atomic<std::size_t> begun_{0};
};

/// What the database contains.
[[nodiscard]] State state_of(engine::Engine& database);

/// How the two differ, in a few lines; empty if they do not.
[[nodiscard]] std::string difference(const State& found, const State& expected);

}  // namespace palimpsest::crash
