// Several serializable transactions take turns at random, beside some of other levels. A model
// repeats the committed ones one after the other, in the order of their commits: each call has to
// return the same again. And a transaction is refused exactly if it must be.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/isolation/items.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::test {
namespace {

constexpr std::uint64_t kIds = 24;
constexpr std::uint64_t kValues = 12;
constexpr std::size_t kActors = 5;

struct Stored {
  std::int64_t value = 0;
  std::string note;

  friend bool operator==(const Stored&, const Stored&) = default;
};
using State = std::map<std::int64_t, Stored>;
using Shown = std::vector<std::pair<std::int64_t, Stored>>;

/// A row that a change has removed, or has left, at least for a while.
struct Touched {
  std::int64_t id = 0;
  Stored row;
};

/// The result of a call, how to compute it from a state, and which rows, before or after a change,
/// it may depend on.
struct Seen {
  Shown shown;
  std::function<Shown(const State&)> again;
  std::function<bool(std::int64_t id, const Stored& row)> is_about;
};

Shown shown_of(const RowView& row) {
  return {
      {row["id"].as_integer(), {row["value"].as_integer(), std::string(row["note"].as_bytes())}}};
}

void append(Shown& all, const Shown& one) {
  all.insert(all.end(), one.begin(), one.end());
}

class SerialActor {
 public:
  /// `writes`: how many have been committed.
  SerialActor(SerializableItems& items, Isolation isolation, const State& committed,
              std::size_t writes)
      : begun(writes), level(isolation), in_(items.begin(level)), items_(items), own_(committed) {}

  /// False: in conflict with another one.
  [[nodiscard]] bool step(Random& random) {
    const auto id = static_cast<std::int64_t>(random.below(kIds));
    switch (random.below(level == Isolation::serializable ? 10 : 4)) {
      case 0: return change(id, Stored{any_value(random), any_note(random)}, true);
      case 1: return change(id, Stored{any_value(random), any_note(random)}, false);
      case 2: return erase(id);
      case 3: return insert(id, Stored{any_value(random), any_note(random)});
      case 4:
      case 5: get(id); return true;
      case 6: walk(random, id); return true;
      case 7: walk_back(random, id); return true;
      case 8: walk_by_value(random); return true;
      default: visit(random, id); return true;
    }
  }
  void commit() { in_.commit(); }
  void rollback() { in_.rollback(); }

  const std::size_t begun;  ///< how many had been touched and committed when it began
  const Isolation level;
  std::map<std::int64_t, std::optional<Stored>> changed;
  std::vector<Touched> touched;
  std::vector<std::pair<Seen, State>> seen;  ///< with the state that its own changes were above

 private:
  static std::int64_t any_value(Random& random) {
    return static_cast<std::int64_t>(random.below(kValues));
  }
  static std::string any_note(Random& random) {
    static std::uint64_t number = 0;  // all different
    std::string note = std::to_string(++number);
    note.resize(random.one_in(8) ? 3000 : note.size() + random.below(40), '.');
    return note;
  }

  [[nodiscard]] bool done(std::int64_t id, const Outcome& outcome,
                          const std::optional<Stored>& after) {
    if (outcome.is_conflict()) {
      return false;
    }
    const bool was_there = own_.contains(id);
    EXPECT_EQ(outcome.kind() == OutcomeKind::absent, !was_there && !inserts_);
    EXPECT_EQ(outcome.kind() == OutcomeKind::exists, was_there && inserts_ && !replaces_);
    if (!outcome) {
      note_point(id, was_there ? Shown{{id, own_.at(id)}} : Shown{});
      return true;
    }
    if (was_there) {
      touched.push_back({id, own_.at(id)});
    }
    if (after) {
      touched.push_back({id, *after});
    }
    after ? void(own_[id] = *after) : void(own_.erase(id));
    changed[id] = after;
    return true;
  }
  [[nodiscard]] bool change(std::int64_t id, const Stored& to, bool upsert) {
    inserts_ = replaces_ = upsert;
    const Outcome outcome =
        upsert ? items_.table->upsert(in_, {id, {}, to.value, to.note})
               : items_.table->update(in_, {id}, {{"value", to.value}, {"note", to.note}});
    return done(id, outcome, to);
  }
  [[nodiscard]] bool insert(std::int64_t id, const Stored& to) {
    inserts_ = true;
    replaces_ = false;
    return done(id, items_.table->insert(in_, {id, {}, to.value, to.note}), to);
  }
  [[nodiscard]] bool erase(std::int64_t id) {
    inserts_ = replaces_ = false;
    return done(id, items_.table->erase(in_, {id}), std::nullopt);
  }

  void note(Seen one) {
    EXPECT_EQ(one.shown, one.again(own_)) << "of its own snapshot and changes";
    seen.emplace_back(std::move(one), own_);
  }
  /// The whole row, or only whether it exists, for a write that was not done.
  void note_point(std::int64_t id, Shown shown) {
    note({.shown = std::move(shown),
          .again =
              [id](const State& state) {
                const auto found = state.find(id);
                return found == state.end() ? Shown{} : Shown{*found};
              },
          .is_about = [id](std::int64_t other, const Stored&) { return other == id; }});
  }
  void get(std::int64_t id) {
    Shown shown;
    items_.table->read(in_, {id}, [&](const RowView& row) { shown = shown_of(row); });
    note_point(id, std::move(shown));
  }
  /// Rows from there on, so many at most.
  void note_range(std::int64_t from, std::size_t most, Shown shown) {
    const std::int64_t last = shown.size() == most ? shown.back().first : std::int64_t{kIds};
    note({.shown = std::move(shown),
          .again =
              [=](const State& state) {
                Shown all(state.lower_bound(from), state.end());
                all.resize(std::min(all.size(), most));
                return all;
              },
          .is_about = [=](std::int64_t id, const Stored&) { return id >= from && id <= last; }});
  }
  void walk(Random& random, std::int64_t from) {
    const std::size_t most = 1 + random.below(5);
    Shown shown;
    for (Cursor cursor = items_.table->cursor(in_, Range::from({from})); cursor.valid();
         cursor.next()) {
      append(shown, shown_of(cursor.row()));
      if (shown.size() == most) {
        break;
      }
    }
    note_range(from, most, std::move(shown));
  }
  void visit(Random& random, std::int64_t from) {
    const std::size_t most = 1 + random.below(5);
    Shown shown;
    items_.table->visit(in_, Range::from({from}), [&](const RowView& row) {
      append(shown, shown_of(row));
      return shown.size() < most;
    });
    note_range(from, most, std::move(shown));
  }
  void walk_back(Random& random, std::int64_t to) {
    const std::size_t most = 1 + random.below(5);
    Shown shown;
    Cursor cursor = items_.table->cursor(in_, Range::up_to({to}));
    for (cursor.seek_last(); cursor.valid(); cursor.previous()) {
      append(shown, shown_of(cursor.row()));
      if (shown.size() == most) {
        break;
      }
    }
    const std::int64_t first = shown.size() == most ? shown.back().first : 0;
    // A cursor stands on the first row of its range before it goes anywhere.
    const auto none_first = own_.empty() || own_.begin()->first > to ? to : own_.begin()->first;
    note(
        {.shown = std::move(shown),
         .again =
             [=](const State& state) {
               Shown all(state.begin(), state.upper_bound(to));
               std::ranges::reverse(all);
               all.resize(std::min(all.size(), most));
               return all;
             },
         .is_about = [=](std::int64_t id,
                         const Stored&) { return id <= to && (id >= first || id <= none_first); }});
  }
  /// By value, and then by id.
  void walk_by_value(Random& random) {
    const auto from = static_cast<std::int64_t>(random.below(kValues));
    const auto to = from + static_cast<std::int64_t>(random.below(3));
    Shown shown;
    for (Cursor cursor = items_.by_value->cursor(in_, Range::between({from}, {to})); cursor.valid();
         cursor.next()) {
      append(shown, shown_of(cursor.row()));
    }
    note({.shown = std::move(shown),
          .again =
              [=](const State& state) {
                Shown all;
                std::ranges::copy_if(state, std::back_inserter(all), [&](const auto& row) {
                  return row.second.value >= from && row.second.value <= to;
                });
                std::ranges::sort(all, {}, [](const auto& row) {
                  return std::pair(row.second.value, row.first);
                });
                return all;
              },
          .is_about = [=](std::int64_t,
                          const Stored& row) { return row.value >= from && row.value <= to; }});
  }

  Transaction in_;
  SerializableItems& items_;
  State own_;
  bool inserts_ = false;  ///< the call that was made last
  bool replaces_ = false;
};

class SerialOrder : public ::testing::Test {
 protected:
  void run(Random& random, int steps) {
    std::vector<std::unique_ptr<SerialActor>> actors(kActors);
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      std::unique_ptr<SerialActor>& actor = actors[random.below(kActors)];
      if (actor == nullptr) {
        const Isolation level = !random.one_in(4)  ? Isolation::serializable
                                : random.one_in(2) ? Isolation::snapshot
                                                   : Isolation::serializable;
        actor = std::make_unique<SerialActor>(items_, level, committed_, writes_.size());
      } else if (random.one_in(7)) {
        random.one_in(6) ? actor->rollback() : end(*actor);
        actor.reset();
      } else if (!actor->step(random)) {
        actor->rollback();
        actor.reset();
      }
    }
  }

  void end(SerialActor& actor) {
    const auto code = error_of([&] { actor.commit(); });
    ASSERT_EQ(code.value_or(ErrorCode::not_serializable), ErrorCode::not_serializable);
    if (code) {
      ++refused_;
      EXPECT_TRUE(may_be_refused(actor));
      return;
    }
    ++committed_count_;
    if (actor.level == Isolation::serializable && !actor.changed.empty()) {
      expect_serial(actor);
    }
    writes_.insert(writes_.end(), actor.touched.begin(), actor.touched.end());
    for (const auto& [id, after] : actor.changed) {
      after ? void(committed_[id] = *after) : void(committed_.erase(id));
    }
  }
  /// Replaces its snapshot by what has been committed by now, below its own changes.
  void expect_serial(const SerialActor& actor) {
    for (const auto& [seen, own] : actor.seen) {
      State state = committed_;
      for (const auto& [id, after] : actor.changed) {
        own.contains(id) ? void(state[id] = own.at(id)) : void(state.erase(id));
      }
      EXPECT_EQ(seen.again(state), seen.shown);
    }
  }
  [[nodiscard]] bool may_be_refused(const SerialActor& actor) const {
    return std::any_of(writes_.begin() + static_cast<std::ptrdiff_t>(actor.begun), writes_.end(),
                       [&](const Touched& write) {
                         return std::ranges::any_of(actor.seen, [&](const auto& one) {
                           return one.first.is_about(write.id, write.row);
                         });
                       });
  }

  SerializableItems items_;
  State committed_;
  std::vector<Touched> writes_;
  std::uint64_t refused_ = 0;
  std::uint64_t committed_count_ = 0;
};

TEST_F(SerialOrder, IsThatOfTheCommits) {
  Random random(seed());
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(test_seconds(6));
  do {
    run(random, 2000);
  } while (!HasFailure() && std::chrono::steady_clock::now() < end);
  std::cout << committed_count_ << " committed, " << refused_ << " refused\n";
  EXPECT_GT(committed_count_, 20U);
  EXPECT_GT(refused_, 20U);
}

}  // namespace
}  // namespace palimpsest::test
