// Claims, evictions, loads, splits and the ends of writers, each stopped in the middle while
// another thread goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/leaf_entries.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/eventually.h"
#include "versioning/version_buffer.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::btree {
namespace {

using versioning::Writer;
using versioning::WriterId;

constexpr std::uint64_t kRecord = 525;

class EntryInterleaving : public palimpsest::test::InterleavingTest {
 protected:
  static constexpr WriterId kFirst{1};
  static constexpr WriterId kSecond{2};

  [[nodiscard]] versioning::EntryMemory& memory() { return database_->entries(); }
  [[nodiscard]] std::size_t orphans() { return database_->pool().orphans().count(); }

  /// `first` changes the record, and then its page leaves memory.
  void claim_and_evict(Writer& first) {
    ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
    ASSERT_NO_FATAL_FAILURE(evict(kRecord));
    ASSERT_EQ(orphans(), 1U);
  }
  /// Reads the i-th record unless it is near the one whose page is to leave memory.
  void read_elsewhere(std::uint64_t i) {
    const std::uint64_t read = i % kRecords;
    if (read + 50 < kRecord || read > kRecord + 50) {
      static_cast<void>(value_of(read));
    }
  }
  /// The writer with which a new writer conflicts when it changes the record; kNoWriter: none.
  [[nodiscard]] WriterId conflict_of_second() {
    Writer second(memory(), kSecond);
    const WriteOutcome outcome = tree().update(second, key_of(kRecord), "second");
    return outcome.conflict ? outcome.conflict->with : versioning::kNoWriter;
  }
  /// As conflict_of_second(), in a thread of its own. When this returns a thread waits for a latch,
  /// most likely that one, or that thread has ended.
  [[nodiscard]] std::thread second_in_thread(WriterId& conflicting_writer) {
    const auto goes_on = std::make_shared<std::atomic<bool>>(true);
    const auto stopped = [goes_on] {
      *goes_on = false;
      goes_on->notify_all();
    };
    const SyncHook parked("latch.park.marked", stopped);
    std::thread thread([this, stopped, &conflicting_writer] {
      conflicting_writer = conflict_of_second();
      stopped();
    });
    goes_on->wait(true);
    return thread;
  }
  void expect_as_after(Writer& first) {
    first.end();
    EXPECT_EQ(conflict_of_second(), versioning::kNoWriter);
    EXPECT_TRUE(palimpsest::test::sound(*database_));
  }
};

// The page is leaving memory: its table is an orphan already, the swip is still unchanged.
TEST_F(EntryInterleaving, ClaimDuringAnEviction) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  database_->pool().flush();  // clean pages leave soon
  SyncBarrier leaving("buffer.orphan.entered");
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    for (std::uint64_t i = 0; !stop; i += 7) {
      read_elsewhere(i);
    }
  });
  leaving.wait_until_reached();
  WriterId conflicting_writer{};
  std::thread second = second_in_thread(conflicting_writer);
  stop = true;
  leaving.release();
  second.join();
  reader.join();
  EXPECT_EQ(conflicting_writer, kFirst);
  expect_as_after(first);
}

// The page is in its frame and has its table again, but its parent does not point to it yet.
TEST_F(EntryInterleaving, ClaimWhileThePageComesBack) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  SyncBarrier attached("buffer.orphan.attached");
  std::string value;
  std::thread reader([&] { value = value_of(kRecord); });
  attached.wait_until_reached();
  WriterId conflicting_writer{};
  std::thread second = second_in_thread(conflicting_writer);
  attached.release();
  second.join();
  reader.join();
  EXPECT_EQ(conflicting_writer, kFirst);
  EXPECT_EQ(value, new_value(kRecord));
  EXPECT_EQ(orphans(), 0U);
  expect_as_after(first);
}

// Two threads need the page; the second one waits for the load of the first.
TEST_F(EntryInterleaving, TwoLoaders) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  SyncBarrier loading("buffer.fault.entered");
  WriterId conflict_of_loader{};
  std::thread loader([&] {
    Writer third(memory(), WriterId{3});
    const WriteOutcome outcome = tree().remove(third, key_of(kRecord));
    conflict_of_loader = outcome.conflict ? outcome.conflict->with : versioning::kNoWriter;
  });
  loading.wait_until_reached();
  WriterId conflicting_writer{};
  std::thread second = second_in_thread(conflicting_writer);
  loading.release();
  second.join();
  loader.join();
  EXPECT_EQ(conflicting_writer, kFirst);
  EXPECT_EQ(conflict_of_loader, kFirst);
  expect_as_after(first);
}

// The parent is split during the read: the page becomes ready, and the next reader attaches it.
TEST_F(EntryInterleaving, PageThatIsReadyGetsItsTableWhenItIsAttached) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  std::vector<buffer::BufferPool::Load> loads;
  ASSERT_TRUE(palimpsest::test::eventually([&] {  // the pool's threads may hold a latch
    tree().descent().begin_load(Target{key_of(kRecord)}, loads);
    return !loads.empty();
  }));
  ASSERT_EQ(loads.size(), 1U);
  for (std::uint64_t i = 0; i < 10; ++i) {  // into other leaves of the same inner node
    ASSERT_TRUE(tree().insert(key_of(200) + std::to_string(i), std::string(900, 'x')));
  }
  database_->pool().finish_loads(loads);
  ASSERT_FALSE(resident(kRecord)) << "it was attached at once";
  EXPECT_EQ(orphans(), 1U);
  EXPECT_EQ(conflict_of_second(), kFirst);
  EXPECT_EQ(orphans(), 0U);
  expect_as_after(first);
}

// The age of the youngest versions that belong to a page survives its eviction, too.
TEST_F(EntryInterleaving, TheYoungestStartComesBackWithTheTable) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  {
    auto leaf = tree().descent().leaf<buffer::ExclusivePage>(Target{key_of(kRecord)});
    LeafEntries(leaf, kOptions.page_size_bytes).left_version(Gsn{7});
  }
  const FrameIndex frame = leaf_of(kRecord).frame;
  ASSERT_NO_FATAL_FAILURE(evict(kRecord));
  ASSERT_EQ(orphans(), 1U);
  EXPECT_TRUE(palimpsest::test::sound(*database_))
      << "the page that has frame " << raw(frame) << " now";
  EXPECT_EQ(value_of(kRecord), new_value(kRecord));
  {
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key_of(kRecord)});
    EXPECT_EQ(leaf.frame().youngest.load(), Gsn{7});
  }
  expect_as_after(first);
}

// A prefetched page has its table like any other.
TEST_F(EntryInterleaving, ReadAhead) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  const std::string key = key_of(kRecord);
  const ByteView keys[] = {key};
  // If the pool's threads hold the parent's latch, the next reader attaches the page.
  ASSERT_TRUE(palimpsest::test::eventually([&] {
    tree().prefetch(keys);
    if (resident(kRecord)) {
      return true;
    }
    EXPECT_EQ(value_of(kRecord), new_value(kRecord));
    evict(kRecord);
    return false;
  }));
  EXPECT_EQ(orphans(), 0U);
  EXPECT_EQ(conflict_of_second(), kFirst);
  expect_as_after(first);
}

// A load fails: the orphaned table stays registered.
TEST_F(EntryInterleaving, FailedLoadLeavesTheOrphan) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  disk_.inject({.error = EIO, .kinds = unsigned(palimpsest::test::SimKind::read), .nth = 1});
  EXPECT_ANY_THROW(static_cast<void>(value_of(kRecord)));
  EXPECT_EQ(orphans(), 1U);
  EXPECT_EQ(conflict_of_second(), kFirst);
  expect_as_after(first);
}

// The writer ends while its entry moves to other tables and its former tables are gone.
TEST_F(EntryInterleaving, EndDuringSplitsAndMerges) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  const versioning::MappingTable* before = nullptr;
  {
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key_of(kRecord)});
    before = table_of(leaf.frame());
  }
  // the record's page is no longer at hand
  ASSERT_TRUE(tree().update(key_of(kRecord + 1), new_value(kRecord + 1)));
  SyncBarrier ending("versioning.release.begun");
  std::thread owner([&] { first.end(); });
  ending.wait_until_reached();
  for (std::uint64_t i = 0; i < 6; ++i) {  // splits the leaf; the record moves right
    ASSERT_TRUE(tree().insert(key_of(kRecord - 1) + std::to_string(i), std::string(900, 'x')));
  }
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(tree().remove(key_of(kRecord - 1) + std::to_string(i)));
  }
  for (std::uint64_t i = kRecord - 30; i < kRecord + 30; ++i) {  // merges it with its neighbours
    if (i != kRecord) {
      ASSERT_TRUE(tree().remove(key_of(i)));
    }
  }
  {
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key_of(kRecord)});
    EXPECT_NE(table_of(leaf.frame()), before) << "the entry has not moved";
    EXPECT_NE(table_of(leaf.frame()), nullptr);
  }
  EXPECT_EQ(conflict_of_second(), kFirst);
  ending.release();
  owner.join();
  EXPECT_EQ(conflict_of_second(), versioning::kNoWriter);
  // the release was counted at the entry's old table, and is found all the same
  for (int i = 0; i < 70; ++i) {
    ASSERT_TRUE(tree().update(key_of(kRecord), new_value(kRecord)));
  }
  EXPECT_EQ(memory().entries(), 0U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// The writer finds the page unchanged, but before it has the latch the record, and its entry, move
// to another page: the entry stays there, and nothing is taken from the old page.
TEST_F(EntryInterleaving, EndWhileThePageThatWasAtHandIsSplit) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  const auto table_beside = [&](std::uint64_t record) {
    return table_of(tree().descent().leaf<buffer::SharedPage>(Target{key_of(record)}).frame());
  };
  const versioning::MappingTable* const before = table_beside(kRecord);
  SyncBarrier found("versioning.unchanged.found");
  std::thread owner([&] { first.end(); });
  found.wait_until_reached();
  Writer other(memory(), WriterId{3});
  ASSERT_TRUE(tree().update(other, key_of(kRecord - 2), new_value(kRecord - 2)).existed);
  for (std::uint64_t i = 0; i < 6; ++i) {  // splits the leaf; the record moves right
    ASSERT_TRUE(tree().insert(key_of(kRecord - 1) + std::to_string(i), std::string(900, 'x')));
  }
  ASSERT_EQ(table_beside(kRecord - 2), before) << "it is not where the record was";
  ASSERT_NE(table_beside(kRecord), before) << "the record has not moved";
  EXPECT_EQ(conflict_of_second(), kFirst);
  found.release();
  owner.join();
  EXPECT_TRUE(palimpsest::test::sound(*database_));
  EXPECT_EQ(conflict_of_second(), versioning::kNoWriter);
  {
    Writer second(memory(), kSecond);
    EXPECT_TRUE(tree().update(second, key_of(kRecord - 2), "second").conflict);
  }
  other.end();
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// As the previous test, but the page leaves memory: its table waits as an orphan, and the frame
// holds another page, or none.
TEST_F(EntryInterleaving, EndWhileThePageThatWasAtHandIsEvicted) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  SyncBarrier found("versioning.unchanged.found");
  std::thread owner([&] { first.end(); });
  found.wait_until_reached();
  ASSERT_NO_FATAL_FAILURE(evict(kRecord));
  ASSERT_EQ(orphans(), 1U);
  found.release();
  owner.join();
  EXPECT_EQ(conflict_of_second(), versioning::kNoWriter);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A thread takes the last version out of the chain of a record whose writer ends, and is still at
// the chain, without the page: the entry stays where it is.
TEST_F(EntryInterleaving, EndWhileTheLastVersionIsCollected) {
  versioning::VersionBuffer versions(memory());
  versions.prepare(0);
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  {  // the page stays as the change left it
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key_of(kRecord)});
    versions.push(*table_of(leaf.frame())->find(key_of(kRecord)), versioning::VersionKind::inserted,
                  0, 0, [](MutableBytes) {});
  }
  versions.commit_status().announce();
  versions.commit_status().date(Gsn{7});
  versions.commit_status().commit();
  versions.commit(Gsn{7});
  SyncBarrier taken("versioning.unlink.taken");
  std::thread collector;
  {
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key_of(kRecord)});
    collector = std::thread([&] { versions.collect(Gsn{7}); });
    taken.wait_until_reached();
  }
  first.end();
  const auto tables_meanwhile = memory().tables();
  taken.release();
  collector.join();
  EXPECT_EQ(tables_meanwhile, 1U) << "the entry went while a thread was at its chain";
  EXPECT_EQ(conflict_of_second(), versioning::kNoWriter);
  EXPECT_EQ(memory().tables(), 0U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// Nothing on a claimed record's page frees what its writer still needs; what has ended is removed
// when the page leaves memory, which then leaves no orphan.
TEST_F(EntryInterleaving, OnlyTablesInUseBecomeOrphans) {
  Writer first(memory(), kFirst);
  ASSERT_TRUE(tree().update(first, key_of(kRecord), new_value(kRecord)).existed);
  first.end();
  ASSERT_NO_FATAL_FAILURE(evict(kRecord));
  EXPECT_EQ(orphans(), 0U);
  EXPECT_EQ(memory().tables(), 0U);
}

// Orphans whose writers have ended are freed without loading their pages.
TEST_F(EntryInterleaving, ThreadsThatFreeFramesPruneOrphans) {
  Writer first(memory(), kFirst);
  ASSERT_NO_FATAL_FAILURE(claim_and_evict(first));
  first.end();
  for (std::uint64_t i = 0; orphans() != 0; i += 7) {
    ASSERT_LT(i, 10'000'000U) << "never pruned";
    read_elsewhere(i);
  }
  EXPECT_FALSE(resident(kRecord));
  EXPECT_EQ(memory().entries(), 0U);
}

}  // namespace
}  // namespace palimpsest::btree

#endif
