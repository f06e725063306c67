// Commits of serializable transactions that meet each other, and other commits, at every point
// between their first validation and their end.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "tests/isolation/items.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

#ifdef PALIMPSEST_SYNC_POINTS

void wait_for(const std::function<bool()>& what) {
  EXPECT_TRUE(eventually(what));
}

class SerializableCommits : public Serializable {
 protected:
  /// Each has read what the other one has changed.
  [[nodiscard]] std::array<Transaction, 2> skewed() {
    std::array<Transaction, 2> both{items_.begin(), items_.begin()};
    for (std::int64_t one = 0; one < 2; ++one) {
      Transaction& in = both.at(static_cast<std::size_t>(one));
      EXPECT_EQ(value(in, 1 - one), 1 - one);
      set(in, one, 10);
    }
    return both;
  }
};

/// Two that have each read what the other one changes meet after their first validation, and again
/// at this point of their commits. Exactly one may commit.
class Skew : public SerializableCommits, public ::testing::WithParamInterface<const char*> {};

TEST_P(Skew, OneOfTwoCommits) {
  const auto meet = [](std::atomic<int>& arrived) {
    arrived.fetch_add(1);
    wait_for([&] { return arrived.load() == 2; });
  };
  std::atomic<int> begun = 0;
  std::atomic<int> there = 0;
  const SyncHook before("txn.commit.begun", [&] { meet(begun); });
  const SyncHook hook(GetParam(), [&] { meet(there); });
  std::array<Transaction, 2> both = skewed();
  std::atomic<int> committed = 0;
  run_threads(2, [&](std::size_t number) {
    committed += error_of([&] { both.at(number).commit(); }) ? 0 : 1;
  });
  EXPECT_EQ(committed.load(), 1);
  EXPECT_EQ(hook.hits(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Points, Skew,
                         ::testing::Values("txn.commit.announced", "txn.commit.dated"),
                         [](const auto& each) {
                           const std::string_view point = each.param;
                           return std::string(point.substr(point.rfind('.') + 1));
                         });

// The first one has drawn its date, and not published it yet, when the other one, with a larger
// date, comes to its second validation: that has to wait for it.
TEST_F(SerializableCommits, ACommitThatMayGetASmallerDateIsWaitedFor) {
  std::array<Transaction, 2> both = skewed();
  std::atomic<int> begun = 0;
  std::atomic<bool> is_drawn = false;
  std::atomic<bool> is_waited_for = false;
  std::atomic<int> committed = 0;
  std::thread second;
  const auto commit = [&](Transaction& in) { committed += error_of([&] { in.commit(); }) ? 0 : 1; };
  const SyncHook waits("txn.validation.waiting", [&] { is_waited_for.store(true); });
  const SyncHook checked("txn.commit.begun", [&] {  // each has passed its first validation
    if (begun.fetch_add(1) == 0) {
      second = std::thread([&] { commit(both[1]); });
      wait_for([&] { return begun.load() == 2; });
    } else {
      wait_for([&] { return is_drawn.load(); });
    }
  });
  const SyncHook drawn("txn.commit.drawn", [&] {
    if (!is_drawn.exchange(true)) {
      wait_for([&] { return is_waited_for.load() || committed.load() != 0; });
    }
  });
  commit(both[0]);
  second.join();
  EXPECT_EQ(committed.load(), 1);
  EXPECT_TRUE(is_waited_for.load());
}

// Other transactions find a committed definition only a moment later. The commits that make trees
// for it before conflict with no transaction.
TEST_F(SerializableCommits, DefinitionsThatAreNotFoundYetAreInTheWay) {
  std::optional<Transaction> later;
  std::optional<ErrorCode> at_once;
  bool is_inside = false;
  const SyncHook hook("txn.commit.decided", [&] {
    if (std::exchange(is_inside, true)) {
      return;
    }
    later.reset();
    Transaction in = items_.begin();
    set(in, 1, value(in, 2) + 7);
    at_once = error_of([&] { in.commit(); });
    later.emplace(items_.begin());
    set(*later, 3, value(*later, 2) + 7);
    is_inside = false;
  });
  items_.database.create_table(
      {.name = "other", .columns = {{"id", types::int64()}}, .key = {"id"}});
  EXPECT_EQ(at_once, ErrorCode::not_serializable);
  ASSERT_TRUE(later);
  EXPECT_EQ(error_of([&] { later->commit(); }), ErrorCode::not_serializable);
}

// A transaction commits between the other one's validations, with every effect on its versions.
TEST_F(SerializableCommits, WhatCommitsBetweenTheChecksIsFound) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  set(in, 1, 7);
  bool done = false;
  const SyncHook hook("txn.commit.begun", [&] {
    if (!std::exchange(done, true)) {
      items_.table->update({2}, {{"value", 3}}).require();
    }
  });
  EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::not_serializable);
  EXPECT_TRUE(done);
}

// A reader that depends on the outcome waits for the decision.
TEST_F(SerializableCommits, ReadersWaitForTheSecondCheck) {
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 2);
  set(in, 1, 7);
  std::int64_t seen = 0;
  std::thread thread;
  std::atomic<bool> undecided = false;
  const SyncHook waits("btree.read.undecided", [&] { undecided.store(true); });
  const SyncHook hook("txn.commit.dated", [&] {
    thread = std::thread([&] {
      Transaction reader = items_.begin(Isolation::snapshot);
      seen = value(reader, 1);
    });
    wait_for([&] { return undecided.load(); });
  });
  in.commit();
  thread.join();
  EXPECT_EQ(seen, 7);
}

// The versions that would show it are freed before the second validation.
TEST_F(SerializableCommits, ACancelledSnapshotIsNotChecked) {
  const auto write_all = [&](char letter) {
    const std::string note(900, letter);
    for (std::int64_t first = 2; first < 2402; first += 400) {
      Transaction by = items_.begin(Isolation::snapshot);
      for (std::int64_t id = first; id < first + 400; ++id) {
        items_.table->upsert(by, {id, {}, 0, note}).require();
      }
      by.commit();
    }
  };
  write_all('a');
  Transaction in = items_.begin();
  EXPECT_EQ(value(in, 2), 0);
  set(in, 1, 7);
  bool is_other = false;
  const SyncHook hook("txn.commit.begun", [&] {
    if (!std::exchange(is_other, true)) {
      write_all('b');                 // more than version_bytes_max
      for (int i = 0; i < 50; ++i) {  // each collects some of the versions not needed any more
        items_.table->update({3}, {{"value", i}}).require();
      }
    }
  });
  EXPECT_EQ(error_of([&] { in.commit(); }), ErrorCode::snapshot_too_old);
}

#endif

}  // namespace
}  // namespace palimpsest::test
