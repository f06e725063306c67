// Random schedules: some transactions at mixed levels, bulks among them, take turns on few keys and
// names, and a model that is told of everything determines what each of them must see, which of its
// writes may be done, and which conflicts have a reason.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/isolation/schedule.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::test {
namespace {

using State = std::map<std::int64_t, Item>;
using Places = std::set<std::string>;  // ids and names

constexpr std::int64_t kIds = 6;
constexpr std::size_t kOpen = 4;
constexpr int kSteps = 120;

std::string place_of(std::int64_t id) {
  return "id " + std::to_string(id);
}

std::optional<Item> in(const State& state, std::int64_t id) {
  const auto found = state.find(id);
  return found == state.end() ? std::nullopt : std::optional(found->second);
}

void put(State& state, std::int64_t id, const std::optional<Item>& item) {
  state.erase(id);
  if (item) {
    state.emplace(id, *item);
  }
}

void add_name(Places& places, const std::optional<Item>& item) {
  if (item) {
    places.insert(item->name);
  }
}

/// An open transaction, as the model knows it.
struct Open {
  Actor actor;
  Isolation level{};
  bool is_bulk = false;
  bool has_table = false;  ///< a bulk: it has written
  int begun = 0;           ///< by the clock of commits
  State first{};           ///< what was committed then
  std::map<std::int64_t, std::optional<Item>> own{};
  Places tried{};  ///< all that it has written to, or has tried to
};

struct Write {
  std::int64_t id = 0;
  std::optional<Item> after{};  ///< nothing: it is erased
  bool is_insert = false;
};

class RandomScheduleTest : public Schedule {
 protected:
  // The model

  [[nodiscard]] State seen_by(const Open& one) const {
    State seen = one.level == Isolation::snapshot ? one.first : committed_;
    for (const auto& [id, item] : one.own) {
      put(seen, id, item);
    }
    return seen;
  }
  /// The items that a write changes: the row, and names that come or go.
  [[nodiscard]] static Places changed(const std::optional<Item>& before, const Write& write) {
    if (before == write.after) {
      return {};
    }
    Places places{place_of(write.id)};
    if (!before || !write.after || before->name != write.after->name) {
      add_name(places, before);
      add_name(places, write.after);
    }
    return places;
  }
  [[nodiscard]] Places changed_by(const Open& one) const {
    Places places;
    for (const auto& [id, item] : one.own) {
      places.merge(changed(in(committed_, id), {.id = id, .after = item}));
    }
    return places;
  }
  [[nodiscard]] static bool meet(const Places& a, const Places& b) {
    return std::ranges::any_of(a, [&](const std::string& place) { return b.contains(place); });
  }
  [[nodiscard]] static bool since(const Open& one, const Places& places,
                                  const std::map<std::string, int>& when) {
    return one.level == Isolation::snapshot &&
           std::ranges::any_of(places, [&](const std::string& place) {
             return when.contains(place) && when.at(place) > one.begun;
           });
  }
  [[nodiscard]] static bool is_taken(const State& seen, const Write& write) {
    return write.after && std::ranges::any_of(seen, [&](const auto& item) {
             return item.first != write.id && item.second.name == write.after->name;
           });
  }

  // Judgement

  void judge(Open& one, const Write& write, OutcomeKind outcome) {
    const State seen = seen_by(one);
    const auto before = in(seen, write.id);
    const Places places = changed(before, write);
    one.tried.insert(place_of(write.id));
    add_name(one.tried, before);
    add_name(one.tried, write.after);
    bool open_conflict = false;
    bool possible_open_conflict = false;
    for (const auto& other : open_) {
      if (other && &*other != &one) {
        open_conflict = open_conflict || meet(changed_by(*other), places);
        possible_open_conflict = possible_open_conflict || meet(other->tried, one.tried);
      }
    }
    judge_bulks(one, outcome);
    switch (outcome) {
      case OutcomeKind::done:
        EXPECT_EQ(before.has_value(), !write.is_insert);
        EXPECT_FALSE(is_taken(seen, write)) << "two rows of one name";
        EXPECT_FALSE(open_conflict) << "over an uncommitted change";
        EXPECT_FALSE(since(one, places, changed_at_)) << "over a change committed since";
        one.own.insert_or_assign(write.id, write.after);
        break;
      case OutcomeKind::exists:
        EXPECT_TRUE((write.is_insert && before) || is_taken(seen, write));
        break;
      case OutcomeKind::absent: EXPECT_TRUE(!before && !write.is_insert); break;
      case OutcomeKind::conflict:
        EXPECT_TRUE(possible_open_conflict || one.is_bulk || bulk_with_table() != nullptr ||
                    since(one, one.tried, tried_at_))
            << "without a conflicting_writer";
        break;
    }
  }

  // A bulk has all of the table or nothing of it.

  [[nodiscard]] const Open* bulk_with_table() const {
    const auto found =
        std::ranges::find_if(open_, [](const auto& one) { return one && one->has_table; });
    return found == open_.end() ? nullptr : &**found;
  }
  [[nodiscard]] bool any_other(const Open& one, FunctionRef<bool(const Open&)> is) const {
    return std::ranges::any_of(
        open_, [&](const auto& other) { return other && &*other != &one && is(*other); });
  }
  /// Whether `when` has something that this snapshot does not see.
  [[nodiscard]] static bool any_since(const Open& one, const std::map<std::string, int>& when) {
    return one.level == Isolation::snapshot &&
           std::ranges::any_of(when, [&](const auto& place) { return place.second > one.begun; });
  }

  void judge_bulks(Open& one, OutcomeKind outcome) {
    const Open* const bulk = bulk_with_table();
    if (bulk == &one) {
      EXPECT_NE(outcome, OutcomeKind::conflict) << "it has the table to itself";
    } else if (bulk != nullptr) {
      EXPECT_EQ(outcome, OutcomeKind::conflict) << "a bulk has the table";
    } else if (one.is_bulk && outcome == OutcomeKind::conflict) {
      EXPECT_TRUE(any_other(one, [](const Open& other) { return !other.tried.empty(); }) ||
                  any_since(one, tried_at_))
          << "a bulk without a conflicting writer";
    } else if (one.is_bulk) {
      EXPECT_FALSE(any_other(one, [](const Open& other) { return !other.own.empty(); }))
          << "other transactions have written";
      EXPECT_FALSE(any_since(one, changed_at_)) << "it does not see the whole table";
      one.has_table = true;
    }
  }
  /// A bulk may fail to begin only while a reader sees the state before the last bulk.
  void judge_gate(const Open& one) {
    EXPECT_TRUE(one.is_bulk && !one.has_table);
    EXPECT_TRUE(any_other(one, [&](const Open& other) {
      return other.level == Isolation::snapshot && other.begun < last_bulk_;
    })) << "every transaction sees the last bulk";
  }

  void commit(Open& one) {
    ++clock_;
    last_bulk_ = one.has_table ? clock_ : last_bulk_;
    for (const std::string& place : changed_by(one)) {
      changed_at_[place] = clock_;
    }
    for (const std::string& place : one.tried) {
      tried_at_[place] = clock_;
    }
    for (const auto& [id, item] : one.own) {
      put(committed_, id, item);
    }
    one.actor.commit();
  }

  // Steps

  [[nodiscard]] Item some_item(Random& random) {
    return {.id = static_cast<std::int64_t>(1 + random.below(kIds)),
            .name = "n" + std::to_string(1 + random.below(kIds)),
            .value = static_cast<std::int64_t>(random.below(5))};
  }
  void write(Open& one, Random& random) {
    const Item item = some_item(random);
    switch (random.below(3)) {
      case 0:
        judge(one, {.id = item.id, .after = item, .is_insert = true},
              one.actor.insert(item.id, item.name, item.value));
        break;
      case 1: judge(one, {.id = item.id}, one.actor.erase(item.id)); break;
      default:
        judge(one, {.id = item.id, .after = item},
              one.actor.update(item.id, {{"name", item.name}, {"value", item.value}}));
        break;
    }
  }
  void look(Open& one) {
    Items expected;
    for (const auto& [id, item] : seen_by(one)) {
      expected.push_back(item);
    }
    EXPECT_EQ(one.actor.all(), expected);
  }
  void step(Random& random) {
    std::optional<Open>& one = open_[random.below(kOpen)];
    if (!one) {
      const Isolation level = random.one_in(3) ? Isolation::read_committed : Isolation::snapshot;
      const bool is_bulk = random.one_in(4);
      one.emplace(Open{.actor = begin(level, is_bulk),
                       .level = level,
                       .is_bulk = is_bulk,
                       .begun = clock_,
                       .first = committed_});
      if (is_bulk) {
        write_or_wait(one, random);  // transactions that begin later block it
      }
      return;
    }
    switch (random.below(10)) {
      case 0:
        commit(*one);
        one.reset();
        break;
      case 1:
        one->actor.rollback();
        one.reset();
        break;
      case 2:
      case 3: look(*one); break;
      default: write_or_wait(one, random); break;
    }
  }
  void write_or_wait(std::optional<Open>& one, Random& random) {
    try {
      write(*one, random);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::gate_timeout) << error.what();
      judge_gate(*one);
      one.reset();
    }
  }
  void run(Random& random) {
    for (int i = 0; i < kSteps && !HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      step(random);
    }
    for (std::optional<Open>& one : open_) {
      if (one && !HasFailure()) {
        look(*one);
        commit(*one);
      }
      one.reset();
    }
  }

  State committed_{{1, {1, "n1", 10}}, {2, {2, "n2", 20}}};
  int clock_ = 0;
  int last_bulk_ = -1;                       ///< when it committed
  std::map<std::string, int> changed_at_{};  ///< by what has changed
  std::map<std::string, int> tried_at_{};    ///< the same, and by what was tried
  std::vector<std::optional<Open>> open_ = std::vector<std::optional<Open>>(kOpen);
};

TEST_P(RandomScheduleTest, IsAsTheModelSays) {
  Random random(test::seed());
  for (Rounds rounds(2); rounds.next() && !HasFailure();) {
    run(random);
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, RandomScheduleTest,
                         ::testing::Values(Setting{Isolation::snapshot, Pages::in_memory},
                                           Setting{Isolation::snapshot, Pages::evicted}),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace palimpsest::test
