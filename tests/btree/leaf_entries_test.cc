// Claims on the records of a leaf, and the space that uncommitted changes reserve for their undo.
#include "btree/leaf_entries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/audit.h"
#include "btree/btree.h"
#include "bulk/append.h"
#include "tests/btree/allocation_faults.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using buffer::ExclusivePage;
using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using test::AllocationFault;
using test::big_endian;
using versioning::Writer;
using versioning::WriterId;

constexpr std::uint32_t kPageSize = 4096;

WriterId conflict_of(const WriteOutcome& outcome) {
  return outcome.conflict ? outcome.conflict->with : versioning::kNoWriter;
}

class LeafEntriesTest : public ::testing::Test {
 protected:
  LeafEntriesTest()
      : device_(disk_.device()),
        database_(TreeDatabase::create(*device_, {.page_size_bytes = kPageSize, .frames = 64})) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }
  [[nodiscard]] versioning::EntryMemory& memory() { return database_->entries(); }
  [[nodiscard]] ExclusivePage leaf_of(ByteView key) {
    return tree().descent().leaf<ExclusivePage>(Target{key});
  }
  // Does not change the leaf's version:
  [[nodiscard]] versioning::MappingTable* table_beside(ByteView key) {
    return table_of(tree().descent().leaf<buffer::SharedPage>(Target{key}).frame());
  }
  [[nodiscard]] std::uint64_t version_of(ByteView key) {
    return tree().descent().leaf<buffer::OptimisticPage>(Target{key}).version();
  }
  [[nodiscard]] std::uint64_t leaf_count() { return audit(tree()).leaves().nodes; }

  [[nodiscard]] Claim claim(Writer& writer, ByteView key) {
    writer.prepare(key);
    ExclusivePage leaf = leaf_of(key);
    const SearchResult at = LeafView(leaf.page(), kPageSize).find(key);
    LeafEntries entries(leaf, kPageSize);
    return entries.claim(entries.find(at, key), at, key, writer);
  }
  [[nodiscard]] bool marked(ByteView key) {
    const ExclusivePage leaf = leaf_of(key);
    const LeafView view(leaf.page(), kPageSize);
    const SearchResult at = view.find(key);
    return at.found && (view.flags(at.slot) & kHasEntry) != 0;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

TEST_F(LeafEntriesTest, ClaimSaysWhoseTheRecordIs) {
  ASSERT_TRUE(tree().insert("there", "value"));
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  EXPECT_EQ(claim(one, "there").result, Claim::Result::claimed);
  EXPECT_EQ(claim(one, "there").result, Claim::Result::already_mine);
  const Claim refused = claim(two, "there");
  EXPECT_EQ(refused.result, Claim::Result::conflict);
  EXPECT_EQ(refused.with, WriterId{1});
  EXPECT_TRUE(marked("there"));
  EXPECT_EQ(claim(one, "absent").result, Claim::Result::claimed);
  EXPECT_EQ(claim(two, "absent").with, WriterId{1});
  EXPECT_EQ(one.claims(), 2U);
  EXPECT_EQ(two.claims(), 0U);
  const versioning::Entry* entry = table_of(leaf_of("there").frame())->find("there");
  one.end();
  EXPECT_EQ(claim(two, "there").result, Claim::Result::claimed);
  EXPECT_EQ(table_of(leaf_of("there").frame())->find("there"), entry) << "taken over";
  EXPECT_TRUE(sound(*database_));
}

// A writer's removal leaves the entry behind; the key stays claimed until the writer ends, and any
// slot that is made for it is marked again.
TEST_F(LeafEntriesTest, RemovedRecordConflictsUntilItsRemoverEnds) {
  ASSERT_TRUE(tree().insert("key", "value"));
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  EXPECT_TRUE(tree().remove(one, "key").existed);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(conflict_of(tree().insert(two, "key", "other")), WriterId{1});
    EXPECT_EQ(conflict_of(tree().upsert(two, "key", "other")), WriterId{1});
    EXPECT_EQ(conflict_of(tree().update(two, "key", "other")), WriterId{1});
    EXPECT_EQ(tree().remove(two, "key").conflict->key, "key");
  }
  ASSERT_TRUE(tree().insert("key", "by no writer"));
  EXPECT_TRUE(marked("key"));
  EXPECT_TRUE(sound(*database_));
  EXPECT_TRUE(tree().update(two, "key", "other").conflict);
  EXPECT_TRUE(tree().update(one, "key", "own").existed);
  one.end();
  EXPECT_FALSE(tree().update(two, "key", "other").conflict);
  two.end();
  ASSERT_TRUE(tree().update("key", "value"));
  EXPECT_EQ(memory().tables(), 0U);
}

// A mark outlives its entry, and even the table: without an entry it names no writer, and the next
// writer claims the record.
TEST_F(LeafEntriesTest, AMarkWithoutAnEntryDoesNoHarm) {
  ASSERT_TRUE(tree().insert("key", "value"));
  ASSERT_TRUE(tree().insert("other", "value"));
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  EXPECT_TRUE(tree().update(one, "key", "first").existed);
  EXPECT_TRUE(tree().update(one, "other", "first").existed);
  // so the page is not at hand for one of the entries
  ASSERT_TRUE(tree().insert("third", "value"));
  one.end();
  EXPECT_TRUE(tree().update(two, "other", "second").existed);
  {
    ExclusivePage leaf = leaf_of("key");
    LeafEntries(leaf, kPageSize).finish();
  }
  EXPECT_EQ(table_of(leaf_of("key").frame())->count(), 1U) << "one's entries have gone";
  EXPECT_TRUE(marked("key"));
  EXPECT_TRUE(sound(*database_));
  EXPECT_EQ(claim(one, "key").result, Claim::Result::claimed);
  EXPECT_EQ(claim(two, "key").with, WriterId{1});
  one.end();
  two.end();
  ASSERT_TRUE(tree().update("key", "value"));
  EXPECT_EQ(memory().tables(), 0U);
  EXPECT_TRUE(marked("key"));
  ASSERT_TRUE(tree().remove("key"));
  EXPECT_TRUE(sound(*database_));
}

// The page is unchanged since the writer left it: when the writer ends, its entries and then the
// table are freed, and readers of the page need not restart.
TEST_F(LeafEntriesTest, EntriesGoWithTheirWriterWhereThePageIsAtHand) {
  ASSERT_TRUE(tree().insert("key", "a value that gets shorter"));
  ASSERT_TRUE(tree().insert("other", "value"));
  Writer one(memory(), WriterId{1});
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(tree().update(one, "key", "a value that gets shorter").existed);
    EXPECT_TRUE(tree().update(one, "key", "short").existed);
    EXPECT_EQ(memory().tables(), 1U);
    const std::uint64_t version = version_of("key");
    one.end();
    EXPECT_EQ(memory().tables(), 0U);
    EXPECT_EQ(table_beside("key"), nullptr);
    EXPECT_EQ(version_of("key"), version)
        << "a thread that has read the page need not read it again";
  }
  Writer two(memory(), WriterId{2});
  EXPECT_EQ(claim(two, "other").result, Claim::Result::claimed);
  EXPECT_EQ(claim(two, "key").result, Claim::Result::claimed);
  two.end();
  EXPECT_TRUE(sound(*database_));
}

// Entries on a page that another thread has changed since stay for that thread: the ending writer
// does not latch the page again.
TEST_F(LeafEntriesTest, EntriesStayWhereAnotherWriterChangedThePage) {
  ASSERT_TRUE(tree().insert("key", "value"));
  ASSERT_TRUE(tree().insert("other", "value"));
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  EXPECT_TRUE(tree().update(one, "key", "first").existed);
  EXPECT_TRUE(tree().update(two, "other", "second").existed);
  one.end();
  EXPECT_EQ(table_beside("key")->count(), 2U);
  two.end();
  EXPECT_EQ(table_beside("key")->count(), 1U) << "its own has gone";
  EXPECT_EQ(table_beside("key")->empty_count(), 1U);
  EXPECT_TRUE(sound(*database_));
}

// A writer shrinks a record and a call without a writer makes it longer again, over and over: the
// reservation never exceeds the record's former size, and the writes succeed.
TEST_F(LeafEntriesTest, WritesWithoutAWriterUseWhatIsReservedForTheRecord) {
  ASSERT_TRUE(tree().insert("key", std::string(900, 'a')));
  Writer one(memory(), WriterId{1});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(tree().update(one, "key", "short").existed);
    ASSERT_EQ(table_of(leaf_of("key").frame())->reserved_bytes(), 895U);
    ASSERT_TRUE(tree().update("key", std::string(900, 'b')));
    ASSERT_EQ(table_of(leaf_of("key").frame())->reserved_bytes(), 0U);
  }
  EXPECT_TRUE(tree().update(one, "key", "short").existed);
  one.end();
  ASSERT_TRUE(tree().update("key", std::string(950, 'c')));
  EXPECT_EQ(memory().tables(), 0U);
  EXPECT_TRUE(sound(*database_));
}

// A ghost keeps its mark, conflicts as the record did, and is not purged before its writer ends.
TEST_F(LeafEntriesTest, GhostStaysWhileItsWriterIsActive) {
  const auto purge = [&] {
    return tree().purge_ghosts({}, "key", [](const LeafView&, SlotIndex) { return true; });
  };
  ASSERT_TRUE(tree().insert("key", "a value that gets shorter"));
  ASSERT_TRUE(tree().insert("other", "value"));
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  EXPECT_TRUE(tree().update(one, "key", "short").existed);
  ASSERT_TRUE(tree().mark_deleted("key"));
  EXPECT_TRUE(marked("key"));
  EXPECT_EQ(conflict_of(tree().insert(two, "key", "new")), WriterId{1});
  EXPECT_FALSE(tree().update(one, "key", "a ghost is absent").existed);
  EXPECT_FALSE(tree().remove(one, "key").existed);
  EXPECT_FALSE(tree().edit(one, "key", [](ValueEditor&) { FAIL(); }).existed);
  EXPECT_EQ(purge(), 0U);
  EXPECT_TRUE(sound(*database_));
  EXPECT_FALSE(tree().insert(one, "key", "revived").existed);
  EXPECT_TRUE(marked("key"));
  EXPECT_EQ(conflict_of(tree().update(two, "key", "other")), WriterId{1});
  ASSERT_TRUE(tree().mark_deleted("key"));
  one.end();
  EXPECT_EQ(purge(), 1U);
  EXPECT_TRUE(sound(*database_));
  ASSERT_TRUE(tree().update("other", "touched"));
  EXPECT_EQ(memory().tables(), 0U);
}

// If none of the ghosts tried can be purged, all stay; if one can, the whole leaf is purged.
TEST_F(LeafEntriesTest, FrequentPurgesTryPlacesFurtherAndFurtherFromTheKey) {
  const auto key_of = [](int number) { return fmt::format("key{:02}", number); };
  Writer one(memory(), WriterId{1});
  const auto make_ghosts = [&](int from, int to, bool claims) {
    for (int number = from; number < to; ++number) {
      EXPECT_TRUE(!claims || tree().update(one, key_of(number), "other").existed);
      ASSERT_TRUE(tree().mark_deleted(key_of(number)));
    }
  };
  for (int number = 0; number < 60; ++number) {
    ASSERT_TRUE(tree().insert(key_of(number), "value"));
  }
  make_ghosts(20, 30, true);
  EXPECT_EQ(tree().try_purge_ghosts({}, key_of(35)), 0U);
  make_ghosts(12, 13,
              false);  // the eleventh before the key: the first, second, fourth, eighth are tried
  EXPECT_EQ(tree().try_purge_ghosts({}, key_of(30)), 0U);
  EXPECT_EQ(tree().try_purge_ghosts({}, key_of(28)), 0U) << "the ninth";
  EXPECT_EQ(tree().try_purge_ghosts({}, key_of(27)), 1U) << "the eighth";
  make_ghosts(40, 60, false);
  EXPECT_EQ(tree().try_purge_ghosts({}, "key005"), 20U)
      << "round the leaf, of a key without record";
  EXPECT_TRUE(sound(*database_));
  one.end();
  EXPECT_EQ(tree().try_purge_ghosts({}, key_of(22)), 10U);
  EXPECT_TRUE(sound(*database_));
  std::string value;
  for (int number = 0; number < 60; ++number) {
    const bool is_left = number < 20 ? number != 12 : number >= 30 && number < 40;
    EXPECT_EQ(tree().lookup(key_of(number), value), is_left) << number;
  }
}

TEST_F(LeafEntriesTest, RefusedWritesClaimNothing) {
  ASSERT_TRUE(tree().insert("key", "value"));
  Writer writer(memory(), WriterId{1});
  EXPECT_TRUE(tree().insert(writer, "key", "other").existed);
  EXPECT_FALSE(tree().update(writer, "absent", "other").existed);
  EXPECT_FALSE(tree().remove(writer, "absent").existed);
  EXPECT_FALSE(tree().edit(writer, "absent", [](ValueEditor&) {}).existed);
  EXPECT_EQ(writer.claims(), 0U);
  EXPECT_EQ(memory().tables(), 0U);
}

// Wherever memory runs out, the record is unchanged and unclaimed.
TEST_F(LeafEntriesTest, FailedAllocationsChangeNothing) {
  std::string value;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::string key = std::string(20, 'k') + big_endian(i);
    Writer writer(memory(), WriterId{1 + i});
    for (std::uint64_t nth = 1;; ++nth) {
      try {
        const AllocationFault fault(nth);
        EXPECT_FALSE(tree().insert(writer, key, std::string(30, 'v')).existed);
        break;
      } catch (const std::bad_alloc&) {
        ++failed;
        ASSERT_EQ(writer.claims(), 0U);
        ASSERT_FALSE(tree().lookup(key, value));
        ASSERT_TRUE(sound(*database_));
      }
    }
    ASSERT_EQ(writer.claims(), 1U);
    ASSERT_TRUE(tree().lookup(key, value));
  }
  EXPECT_GT(failed, 600U);
}

// The end of a leaf with uncommitted removals is not empty yet.
TEST_F(LeafEntriesTest, NothingIsAppendedOverRemovalsUnderWay) {
  Writer writer(memory(), WriterId{1});
  EXPECT_FALSE(tree().insert(writer, "key", "value").existed);
  EXPECT_TRUE(tree().remove("key"));  // as undo does it: the entry stays
  const std::vector<NewRecord> records{{"a", "b"}};
  std::size_t done = 0;
  bulk::LeafWriter pages(tree().descent().pool());
  append(tree(), {}, records, pages, done);
  EXPECT_EQ(done, 0U);
  writer.end();
  append(tree(), {}, records, pages, done);
  EXPECT_EQ(done, 1U);
  EXPECT_TRUE(sound(*database_));
}

/// A writer that records how to undo its changes, one at a time.
class UndoingWriter {
 public:
  UndoingWriter(TreeDatabase& database, WriterId id)
      : tree_(database.tree()), writer_(database.entries(), id) {}

  [[nodiscard]] bool update(const std::string& key, const std::string& value) {
    std::string before;
    EXPECT_TRUE(tree_.lookup(key, before));
    if (tree_.update(writer_, key, value).conflict) {
      return false;
    }
    undo_.emplace_back(key, before);
    return true;
  }
  void roll_back() {
    for (; !undo_.empty(); undo_.pop_back()) {
      ASSERT_FALSE(tree_.update(writer_, undo_.back().first, undo_.back().second).conflict);
    }
    writer_.end();
  }
  [[nodiscard]] Writer& writer() { return writer_; }

 private:
  BTree& tree_;
  Writer writer_;
  std::vector<std::pair<std::string, std::string>> undo_;
};

// Neither insertions nor splits and merges take the space that shorter values free. So undo, step
// by step, never splits a leaf.
TEST_F(LeafEntriesTest, UndoOfUpdatesNeverSplits) {
  Random random(palimpsest::test::seed());
  std::map<std::string, std::string> original;
  std::set<std::string> removable;
  std::uint64_t next = 0;
  const auto some = [&](const auto& keys) {
    auto at = keys.lower_bound(big_endian(random.below(4'000'000)));
    return at == keys.end() ? keys.begin() : at;
  };
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 400; ++i) {
      const std::string key = big_endian(random.below(4'000'000));
      original[key] = std::string(random.below(500), 'o');
      removable.erase(key);
      static_cast<void>(tree().upsert(key, original[key]));
    }
    std::vector<std::unique_ptr<UndoingWriter>> writers;
    writers.reserve(3);
    for (int i = 0; i < 3; ++i) {
      writers.push_back(std::make_unique<UndoingWriter>(*database_, WriterId{++next}));
    }
    Writer other(memory(), WriterId{++next});
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t dice = random.below(10);
      if (dice < 6) {
        const std::string size(random.one_in(3) ? random.below(900) : random.below(40), 'u');
        static_cast<void>(writers[dice / 2]->update(some(original)->first, size));
      } else if (dice < 9 || removable.empty()) {
        std::string key = big_endian(random.below(4'000'000)) + "x";
        const std::string value(random.below(300), 'x');
        static_cast<void>(tree().upsert(other, key, value));
        removable.insert(std::move(key));
      } else {
        const auto key = some(removable);
        static_cast<void>(tree().remove(other, *key));
        removable.erase(key);
      }
    }
    ASSERT_TRUE(sound(*database_));
    const std::uint64_t leaves = leaf_count();
    for (const auto& writer : writers) {
      ASSERT_NO_FATAL_FAILURE(writer->roll_back());
      ASSERT_EQ(leaf_count(), leaves) << "undoing split a leaf";
      ASSERT_TRUE(sound(*database_));
    }
    std::string value;
    for (const auto& [key, expected] : original) {
      ASSERT_TRUE(tree().lookup(key, value));
      ASSERT_EQ(value, expected);
    }
    other.end();
    for (const std::string& key : removable) {
      static_cast<void>(tree().remove(key));
    }
    removable.clear();
    while (original.size() > 300) {
      ASSERT_TRUE(tree().remove(original.begin()->first));
      original.erase(original.begin());
    }
  }
}

// All reserved space belongs to the first records, and the new one belongs behind them: the half
// that keeps them cannot take it, however empty it looks.
TEST_F(LeafEntriesTest, SplitLeavesRoomForWhatIsReserved) {
  for (std::uint64_t i = 20; i < 30; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), "t"));
  }
  for (const std::uint64_t i : {2U, 0U, 3U, 1U}) {
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(900, 'v')));
  }
  UndoingWriter one(*database_, WriterId{1});
  Writer two(memory(), WriterId{2});
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(one.update(big_endian(i), "s"));
  }
  ASSERT_EQ(leaf_count(), 1U);
  EXPECT_FALSE(tree().insert(two, big_endian(10), std::string(900, 'n')).existed);
  EXPECT_EQ(leaf_count(), 2U);
  EXPECT_TRUE(sound(*database_));
  ASSERT_NO_FATAL_FAILURE(one.roll_back());
  EXPECT_EQ(leaf_count(), 2U);
  EXPECT_TRUE(sound(*database_));
}

// A leaf with reserved space is not as empty as it looks, and no neighbour is merged into it.
TEST_F(LeafEntriesTest, MergeLeavesRoomForWhatIsReserved) {
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(900, 'v')));
  }
  ASSERT_EQ(leaf_count(), 2U);
  UndoingWriter one(*database_, WriterId{1});
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(one.update(big_endian(i), "s"));
  }
  for (std::uint64_t i = 5; i < 8; ++i) {
    ASSERT_TRUE(tree().remove(big_endian(i)));
  }
  EXPECT_EQ(leaf_count(), 2U);
  EXPECT_TRUE(sound(*database_));
  ASSERT_NO_FATAL_FAILURE(one.roll_back());
  EXPECT_EQ(leaf_count(), 2U);
  EXPECT_TRUE(sound(*database_));
}

// After a split, the frames of both halves know the age of their youngest versions; after a merge,
// the remaining frame knows that of both; a frame without a table knows none.
TEST_F(LeafEntriesTest, FramesKnowTheYoungestStart) {
  const auto youngest = [&](std::uint64_t record) {
    return leaf_of(big_endian(record)).frame().youngest.load();
  };
  const auto leave_version = [&](std::uint64_t record, Gsn start) {
    ExclusivePage leaf = leaf_of(big_endian(record));
    LeafEntries(leaf, kPageSize).left_version(start);
  };
  for (const std::uint64_t i : {0U, 2U, 4U, 6U, 20U, 22U, 24U, 26U}) {  // those behind stay
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(900, 'v')));
  }
  ASSERT_EQ(leaf_count(), 2U);
  Writer one(memory(), WriterId{1});
  for (std::uint64_t i = 0; i < 8; i += 2) {
    EXPECT_TRUE(tree().update(one, big_endian(i), std::string(900, 'w')).existed);
  }
  EXPECT_EQ(youngest(0), Gsn{0}) << "claims only";
  leave_version(0, Gsn{7});
  EXPECT_EQ(youngest(0), Gsn{7});
  leave_version(0, Gsn{5});
  EXPECT_EQ(youngest(0), Gsn{7});
  ASSERT_TRUE(tree().insert(big_endian(3), std::string(900, 'v')));
  ASSERT_EQ(leaf_count(), 3U);
  ASSERT_EQ(memory().tables(), 2U) << "both halves have entries";
  EXPECT_EQ(youngest(0), Gsn{7});
  EXPECT_EQ(youngest(6), Gsn{7});
  leave_version(6, Gsn{9});
  EXPECT_EQ(youngest(0), Gsn{7});
  EXPECT_EQ(youngest(6), Gsn{9});
  EXPECT_TRUE(sound(*database_));
  for (const std::uint64_t i : {0U, 2U, 3U, 4U}) {
    static_cast<void>(tree().remove(big_endian(i)));
  }
  ASSERT_EQ(leaf_count(), 2U);
  EXPECT_EQ(youngest(6), Gsn{9});
  EXPECT_TRUE(sound(*database_));
  one.end();
  ASSERT_TRUE(tree().update(big_endian(6), "touched"));
  EXPECT_EQ(memory().tables(), 0U);
  EXPECT_EQ(youngest(6), Gsn{0});
}

// Space that a writer has freed is reserved for it: its record can grow again without a split. Once
// the writer has ended, any record may use the space.
TEST_F(LeafEntriesTest, ReservedSpaceIsItsWritersOwn) {
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(900, 'v')));
  }
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(tree().update(one, big_endian(i), "short").existed);
  }
  EXPECT_EQ(table_of(leaf_of(big_endian(0)).frame())->reserved_bytes(), 4U * 895);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(tree().update(one, big_endian(i), std::string(500, 'w')).existed);
  }
  EXPECT_EQ(table_of(leaf_of(big_endian(0)).frame())->reserved_bytes(), 4U * 400);
  EXPECT_EQ(leaf_count(), 1U);
  one.end();
  EXPECT_FALSE(tree().insert(two, big_endian(9), std::string(900, 'x')).existed);
  EXPECT_EQ(leaf_count(), 1U) << "what was reserved is free once its writer has ended";
  EXPECT_FALSE(tree().insert(two, big_endian(8), std::string(900, 'x')).existed);
  EXPECT_EQ(leaf_count(), 1U);
  EXPECT_TRUE(sound(*database_));
}

// An update that needs the space an ended writer has reserved for another record frees both
// entries, also that of its own record, which it has looked at before.
TEST_F(LeafEntriesTest, RecordIsClaimedAlthoughItsIdleEntryWentFirst) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(960, 'v')));
  }
  Writer one(memory(), WriterId{1});
  Writer two(memory(), WriterId{2});
  Writer three(memory(), WriterId{3});
  EXPECT_TRUE(tree().update(one, big_endian(0), "short").existed);
  EXPECT_TRUE(tree().update(one, big_endian(1), std::string(960, 'w')).existed);
  ASSERT_TRUE(tree().update(big_endian(2), std::string(960, 'x')));  // so its entries stay
  one.end();
  ASSERT_NE(table_beside(big_endian(1))->find(big_endian(1)), nullptr);
  ASSERT_LT(unreserved_bytes(leaf_of(big_endian(1)), kPageSize), 1010U - 960) << "too easy";
  EXPECT_TRUE(tree().update(two, big_endian(1), std::string(1010, 'x')).existed);
  EXPECT_EQ(leaf_count(), 1U);
  EXPECT_TRUE(sound(*database_));
  EXPECT_EQ(conflict_of(tree().update(three, big_endian(1), "other")), WriterId{2});
  const versioning::MappingTable* table = table_of(leaf_of(big_endian(1)).frame());
  EXPECT_EQ(table->find(big_endian(0)), nullptr) << "the test is about entries that go";
}

}  // namespace
}  // namespace palimpsest::btree
