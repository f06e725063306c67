// Versions and their chains: each snapshot sees what had been committed when it was taken,
// regardless of later changes, rollbacks and collection.
#include "versioning/version_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "tests/versioning/versioned_cells.h"

namespace palimpsest::versioning {
namespace {

using test::Cells;
using test::CellWriter;
using Value = std::optional<std::string>;

TEST(CommitStatus, IsJudgedByTheSnapshot) {
  CommitStatus commit_status;
  EXPECT_EQ(commit_status.at(Gsn{10}), Visibility::invisible);
  commit_status.announce();
  EXPECT_EQ(commit_status.at(Gsn{10}), Visibility::undecided);
  commit_status.date(Gsn{10});
  EXPECT_EQ(commit_status.at(Gsn{9}), Visibility::invisible);
  EXPECT_EQ(commit_status.at(Gsn{10}), Visibility::undecided);
  commit_status.commit();
  EXPECT_EQ(commit_status.at(Gsn{9}), Visibility::invisible);
  EXPECT_EQ(commit_status.at(Gsn{10}), Visibility::visible);
  EXPECT_EQ(commit_status.at(Gsn{11}), Visibility::visible);
  commit_status.begin();
  EXPECT_EQ(commit_status.at(Gsn{11}), Visibility::invisible);
  commit_status.announce();
  commit_status.date(Gsn{12});
  commit_status.abort();
  EXPECT_EQ(commit_status.at(Gsn{13}), Visibility::invisible);
}

TEST(VersionBuffer, EachSnapshotSeesItsOwnState) {
  Cells cells(1);
  CellWriter writer(cells);
  CellWriter old_reader(cells);
  CellWriter reader(cells);
  old_reader.begin();
  writer.begin();
  ASSERT_TRUE(writer.write(0, "first"));
  EXPECT_EQ(writer.read(0), "first");
  EXPECT_EQ(old_reader.read(0), std::nullopt);
  writer.commit();
  reader.begin();
  writer.begin();
  ASSERT_TRUE(writer.write(0, "third"));
  ASSERT_TRUE(writer.write(0, "much longer"));
  ASSERT_TRUE(writer.write(0, std::nullopt));
  EXPECT_EQ(writer.read(0), std::nullopt);
  EXPECT_EQ(reader.read(0), "first");
  writer.commit();
  writer.collect();
  EXPECT_EQ(reader.read(0), "first");
  EXPECT_EQ(old_reader.read(0), std::nullopt);
  old_reader.roll_back();
  reader.roll_back();
  writer.collect();
  EXPECT_FALSE(writer.versions().has_old());
  EXPECT_EQ(cells.all[0]->table->empty_count(), 1U);
}

// A reader that sees all commits in a page need not look at versions.
TEST(VersionBuffer, ATableIsQuietForASnapshotThatSeesAllOfIt) {
  Cells cells(1);
  CellWriter writer(cells);
  CellWriter old_reader(cells);
  const MappingTable& table = *cells.all[0]->table;
  old_reader.begin();
  EXPECT_TRUE(table.is_quiet_at(old_reader.snapshot()));
  writer.begin();
  ASSERT_TRUE(writer.write(0, "first"));
  const Gsn far = Gsn{1000};
  EXPECT_FALSE(table.is_quiet_at(far)) << "another writer writes";
  const Gsn committed = writer.commit();
  EXPECT_FALSE(table.is_known_quiet_at(far));
  EXPECT_TRUE(table.is_quiet_at(far));
  EXPECT_TRUE(table.is_known_quiet_at(committed));
  EXPECT_FALSE(table.is_quiet_at(Gsn{raw(committed) - 1}));
  EXPECT_FALSE(table.is_quiet_at(old_reader.snapshot()));
  writer.begin();
  ASSERT_TRUE(writer.write(0, "again"));
  EXPECT_FALSE(table.is_quiet_at(far)) << "another writer writes again";
  writer.roll_back();
  EXPECT_TRUE(table.is_quiet_at(far));
  EXPECT_FALSE(table.is_quiet_at(old_reader.snapshot()));
  old_reader.roll_back();
}

// After a long reader a slot has many versions; each of its commits frees a few of them.
TEST(VersionBuffer, WhatWasHeldBackGoesLittleByLittle) {
  Cells cells(2000);
  CellWriter writer(cells);
  CellWriter old_reader(cells);
  old_reader.begin();
  writer.begin();
  for (std::size_t i = 0; i < cells.all.size(); ++i) {
    ASSERT_TRUE(writer.write(i, "x"));
  }
  writer.commit();
  old_reader.roll_back();
  writer.begin();
  ASSERT_TRUE(writer.write(0, "y"));
  writer.commit();
  const std::size_t all = writer.versions().size_bytes();
  std::size_t commits = 0;
  for (; writer.versions().has_old(); ++commits) {
    ASSERT_LE(commits, 100U);
    writer.versions().collect_few(cells.snapshots.horizon());
  }
  EXPECT_GE(commits, 5U);
  EXPECT_LT(writer.versions().size_bytes(), all / 4);
}

TEST(VersionBuffer, FirstUpdaterWins) {
  Cells cells(2);
  CellWriter one(cells);
  CellWriter two(cells);
  one.begin();
  two.begin();
  ASSERT_TRUE(one.write(0, "one"));
  EXPECT_FALSE(two.write(0, "two")) << "not committed";
  one.commit();
  EXPECT_FALSE(two.write(0, "two")) << "committed after its start";
  ASSERT_TRUE(two.write(1, "two"));
  two.roll_back();
  two.begin();
  EXPECT_EQ(two.read(1), std::nullopt);
  ASSERT_TRUE(two.write(0, "two"));
  two.commit();
}

TEST(VersionBuffer, MemoryIsUsedAgain) {
  Cells cells(50);
  CellWriter writer(cells);
  std::size_t most = 0;
  for (int round = 0; round < 2000; ++round) {
    writer.begin();
    for (std::size_t i = 0; i < cells.all.size(); ++i) {
      ASSERT_TRUE(writer.write(i, std::string(static_cast<std::size_t>(round % 60), 'x')));
    }
    most = std::max(most, writer.versions().size_bytes());
    if (round % 7 == 0) {
      writer.roll_back();
    } else {
      writer.commit();
    }
    writer.collect();
  }
  EXPECT_LE(most, 3U * 16384);
}

// A statement that is undone releases its own claims and versions; earlier ones stay, also where
// one chunk of the buffer ends between the two.
TEST(VersionBuffer, WhatAStatementHasDoneIsTakenBackAlone) {
  constexpr std::size_t kCells = 300;
  Cells cells(kCells + 1);
  CellWriter writer(cells);
  CellWriter other(cells);
  CellWriter reader(cells);
  reader.begin();
  for (const std::size_t kept : {std::size_t{0}, std::size_t{1}, kCells / 2, kCells}) {
    writer.begin();
    const CellWriter::Mark nothing = writer.mark();
    for (std::size_t i = 0; i < kept; ++i) {
      ASSERT_TRUE(writer.write(i, "kept"));
    }
    const CellWriter::Mark mark = writer.mark();
    const std::size_t bytes = writer.versions().new_bytes();
    for (std::size_t i = 0; i < kCells; ++i) {
      ASSERT_TRUE(writer.write(i, std::string(i % 50, 'x')));
    }
    writer.undo_since(mark);
    EXPECT_EQ(writer.versions().new_bytes(), bytes);
    other.begin();
    for (std::size_t i = 0; i < kCells; ++i) {
      ASSERT_EQ(writer.read(i), i < kept ? Value("kept") : std::nullopt);
      ASSERT_EQ(reader.read(i), std::nullopt);
      ASSERT_EQ(other.write(i, "other"), i >= kept) << i;
    }
    other.roll_back();
    writer.undo_since(nothing);
    EXPECT_FALSE(writer.versions().has_new());
    writer.commit();
  }
  reader.roll_back();
}

#ifdef PALIMPSEST_SYNC_POINTS

// A thread that collects in the background stops when the slot's owner arrives.
TEST(VersionBuffer, TheBackgroundGivesWayToTheOwner) {
  constexpr std::size_t kCells = 8;
  Cells cells(kCells);
  CellWriter writer(cells);
  writer.begin();
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    ASSERT_TRUE(writer.write(cell, "new"));
  }
  TurnLatch& latch = VersionBuffer::latch_of(*cells.all[0]->table->find("0")->newest());
  writer.commit();
  const Gsn horizon = cells.snapshots.horizon();
  const auto background = std::this_thread::get_id();
  std::thread owner;
  std::size_t by_background = 0;
  const SyncHook hook("versioning.unlink.taken", [&] {
    if (std::this_thread::get_id() == background) {
      ++by_background;
      if (!owner.joinable()) {
        owner = std::thread([&] { writer.versions().collect_few(horizon); });
      }
      EXPECT_TRUE(palimpsest::test::eventually([&] { return latch.is_wanted(); }));
    }
  });
  static_cast<void>(writer.versions().collect_aside(horizon));
  owner.join();
  EXPECT_EQ(by_background, 1U);
  EXPECT_FALSE(writer.versions().has_old());
  EXPECT_TRUE(writer.versions().collect_aside(horizon));
}

// Committed, and half of the versions carry their date: no reader can tell which.
TEST(VersionBuffer, HalfDatedIsCommitted) {
  Cells cells(2);
  CellWriter writer(cells);
  CellWriter before(cells);
  CellWriter after(cells);
  before.begin();
  writer.begin();
  ASSERT_TRUE(writer.write(0, "new"));
  ASSERT_TRUE(writer.write(1, "new"));
  int looks = 0;
  {
    const SyncHook hook("versioning.commit.dating", [&] {
      after.begin();
      for (const std::size_t cell : {0U, 1U}) {
        EXPECT_EQ(before.read(cell), std::nullopt);
        EXPECT_EQ(after.read(cell), "new");
      }
      after.roll_back();
      ++looks;
    });
    writer.commit();
  }
  EXPECT_EQ(looks, 2);
  before.roll_back();
}

// The page has its old content again: no version of an undone change may be removed without those
// before it.
TEST(VersionBuffer, WhatIsRolledBackIsNeverSeenInPart) {
  Cells cells(1);
  CellWriter writer(cells);
  CellWriter reader(cells);
  writer.begin();
  ASSERT_TRUE(writer.write(0, "before"));
  writer.commit();
  reader.begin();
  writer.begin();
  for (const char* value : {"first", "second", "and third"}) {
    ASSERT_TRUE(writer.write(0, value));
  }
  int looks = 0;
  {
    const SyncHook hook("versioning.abort.taking_out", [&] {
      EXPECT_EQ(reader.read(0), "before");
      ++looks;
    });
    writer.roll_back();
  }
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(reader.read(0), "before");
  reader.roll_back();
}

// A reader has found a version without a date. Before it looks at the commit status, the version
// gets its date and the commit status is the next transaction's: the reader goes by the date.
TEST(VersionBuffer, TheCommitStatusOfTheNextTransactionIsNotBelieved) {
  Cells cells(2);
  CellWriter writer(cells);
  CellWriter reader(cells);
  writer.begin();
  ASSERT_TRUE(writer.write(0, "new"));
  std::atomic<bool> reader_looks = false;
  std::atomic<bool> status_is_next = false;
  std::thread reading;
  {
    const SyncHook dating("versioning.commit.dating", [&] {
      reading = std::thread([&] {
        reader.begin();  // it sees the commit, which is decided
        EXPECT_EQ(reader.read(0), "new");
      });
      reader_looks.wait(false);
    });
    const SyncHook undated("versioning.at.undated", [&] {
      reader_looks = true;
      reader_looks.notify_one();
      status_is_next.wait(false);
    });
    writer.commit();
    writer.begin();
    // it is active: its changes are invisible to all readers
    ASSERT_TRUE(writer.write(1, "newer"));
    status_is_next = true;
    status_is_next.notify_one();
    reading.join();
  }
  writer.roll_back();
  reader.roll_back();
}

#endif

/// Everything that was ever committed, by timestamp.
class History {
 public:
  void commit(Gsn timestamp, const std::map<std::size_t, Value>& changes) {
    for (const auto& [cell, value] : changes) {
      all_[cell][raw(timestamp)] = value;
    }
  }
  [[nodiscard]] Value at(std::size_t cell, Gsn snapshot) const {
    const auto found = all_.find(cell);
    if (found == all_.end()) {
      return std::nullopt;
    }
    const auto after = found->second.upper_bound(raw(snapshot));
    return after == found->second.begin() ? std::nullopt : std::prev(after)->second;
  }
  [[nodiscard]] bool has_changed_since(std::size_t cell, Gsn snapshot) const {
    const auto found = all_.find(cell);
    return found != all_.end() && found->second.rbegin()->first > raw(snapshot);
  }

 private:
  std::map<std::size_t, std::map<std::uint64_t, Value>> all_;
};

/// Several logical transactions in one thread, in random order.
class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed) : random_(seed) {
    for (std::size_t i = 0; i < kTransactions; ++i) {
      open_.emplace_back().writer = std::make_unique<CellWriter>(cells_);
    }
  }
  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      step();
    }
    for (Open& one : open_) {
      if (one.is_open) {
        one.writer->roll_back();
      }
    }
    for (Open& one : open_) {
      one.writer->collect();
    }
  }

 private:
  static constexpr std::size_t kTransactions = 6;
  static constexpr std::size_t kCells = 5;

  struct Open {
    std::unique_ptr<CellWriter> writer;
    bool is_open = false;
    std::map<std::size_t, Value> changes;
    CellWriter::Mark mark{};  ///< where a statement began, and the changes before it
    std::map<std::size_t, Value> changes_before;
  };

  void step() {
    Open& one = open_[random_.below(kTransactions)];
    if (!one.is_open) {
      one.writer->begin();
      one.is_open = true;
      begin_statement(one);
      return;
    }
    const std::size_t cell = random_.below(kCells);
    switch (random_.below(12)) {
      case 0: end(one, true); break;
      case 1: end(one, false); break;
      case 2: one.writer->collect(); break;
      case 3:
      case 4:
      case 5: write(one, cell); break;
      case 6: begin_statement(one); break;
      case 7:
        one.writer->undo_since(one.mark);
        one.changes = one.changes_before;
        break;
      default: read(one, cell); break;
    }
  }
  void begin_statement(Open& one) {
    one.mark = one.writer->mark();
    one.changes_before = one.changes;
  }
  void end(Open& one, bool commits) {
    if (commits) {
      history_.commit(one.writer->commit(), one.changes);
    } else {
      one.writer->roll_back();
    }
    one.changes.clear();
    one.is_open = false;
  }
  void read(Open& one, std::size_t cell) {
    const auto own = one.changes.find(cell);
    const Value expected =
        own != one.changes.end() ? own->second : history_.at(cell, one.writer->snapshot());
    ASSERT_EQ(one.writer->read(cell), expected);
  }
  /// The model knows whether it must succeed: no other transaction claims the cell, or has
  /// committed it since.
  void write(Open& one, std::size_t cell) {
    bool is_free = history_.at(cell, one.writer->snapshot()) ==
                   history_.at(cell, Gsn{std::numeric_limits<std::uint64_t>::max()});
    bool is_taken = false;
    for (const Open& other : open_) {
      is_taken = is_taken || (&other != &one && other.changes.contains(cell));
    }
    const Value value =
        random_.one_in(5)
            ? std::nullopt
            : Value(std::string(3 + random_.below(3), static_cast<char>('a' + random_.below(26))));
    const bool done = one.writer->write(cell, value);
    if (is_taken) {
      ASSERT_FALSE(done);
    }
    if (!is_free) {
      ASSERT_FALSE(done) << "lost update";
    }
    if (!is_taken && !history_.has_changed_since(cell, one.writer->snapshot())) {
      ASSERT_TRUE(done) << "no reader has it";
    }
    if (done) {
      one.changes[cell] = value;
    }
  }

  Random random_;
  Cells cells_{kCells};
  std::vector<Open> open_;
  History history_;
};

TEST(VersionBufferModel, AgreesWithAHistoryOfAllCommits) {
  palimpsest::test::Rounds rounds(20, 2);
  std::uint64_t seed = palimpsest::test::seed();
  while (rounds.next()) {
    SCOPED_TRACE(seed);
    ModelRun(seed++).run(3000);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

// Transfers between accounts, and readers that add all of them up.
TEST(VersionBufferStress, SumsAreOfOneMoment) {
  constexpr std::size_t kAccounts = 12;
  constexpr std::size_t kThreads = 8;
  constexpr std::int64_t kEach = 1000;
  Cells cells(kAccounts);
  {
    CellWriter writer(cells);
    writer.begin();
    for (std::size_t i = 0; i < kAccounts; ++i) {
      ASSERT_TRUE(writer.write(i, std::to_string(kEach)));
    }
    writer.commit();
  }
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> sums{0};
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(palimpsest::test::test_seconds(5));
  const auto add_up = [&](CellWriter& reader) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kAccounts; ++i) {
      const Value value = reader.read(i);
      ASSERT_TRUE(value);
      sum += std::stoll(*value);
    }
    ASSERT_EQ(sum, static_cast<std::int64_t>(kAccounts) * kEach);
    sums.fetch_add(1);
  };
  const auto transfer = [&](CellWriter& writer, Random& random) {
    const std::size_t from = random.below(kAccounts);
    const std::size_t to = (from + 1 + random.below(kAccounts - 1)) % kAccounts;
    const auto amount = static_cast<std::int64_t>(random.below(500));
    const std::int64_t left = std::stoll(writer.read(from).value()) - amount;
    const std::int64_t got = std::stoll(writer.read(to).value()) + amount;
    return writer.write(from, std::to_string(left)) && writer.write(to, std::to_string(got)) &&
           !random.one_in(10);
  };
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(palimpsest::test::seed() + thread);
    CellWriter session(cells);
    while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFatalFailure()) {
      session.begin();
      if (thread % 4 == 3) {
        add_up(session);
        add_up(session);
        session.roll_back();
      } else if (transfer(session, random)) {
        session.commit();
        commits.fetch_add(1);
      } else {
        session.roll_back();
      }
      session.collect();
    }
  });
  std::cout << commits << " commits, " << sums << " sums\n";
}

}  // namespace
}  // namespace palimpsest::versioning
