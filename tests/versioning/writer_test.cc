// Entries and their owners: claiming, ending, and which thread may free an entry when.
#include "versioning/writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/btree/allocation_faults.h"
#include "tests/support/thread_group.h"
#include "versioning/mapping_table.h"

namespace palimpsest::versioning {
namespace {

using btree::test::AllocationFault;

constexpr TreeId kTree{3};

/// Claims a key in a table as the tree does.
Entry& claim(MappingTable& table, Writer& writer, const std::string& key) {
  writer.prepare(key);
  table.reserve(1);
  Entry& entry = table.insert(writer.take_prepared(kTree, key, Entry::hash_of(key)), writer.id());
  writer.add(entry);
  return entry;
}

TEST(Writer, EndReleasesEverything) {
  EntryMemory memory;
  const TablePtr table = MappingTable::make(memory);
  Writer writer(memory, WriterId{7});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(claim(*table, writer, std::to_string(i)).writer(), WriterId{7});
  }
  EXPECT_EQ(writer.claims(), 100U);
  EXPECT_EQ(table->empty_count(), 0U);
  writer.end();
  EXPECT_EQ(writer.claims(), 0U);
  EXPECT_EQ(table->empty_count(), 100U);
  EXPECT_EQ(table->prune([](EntryPtr) {}), 100U);
}

TEST(Writer, SpareIsUsedAgain) {
  EntryMemory memory;
  {
    Writer writer(memory, WriterId{7});
    writer.prepare("a longer key");
    writer.prepare("short");
    EXPECT_EQ(memory.entries(), 1U);
    writer.prepare("a much longer key than before");
    EXPECT_EQ(memory.entries(), 1U);
    writer.prepare("key");
    const EntryPtr spare = writer.take_prepared(kTree, "key", Entry::hash_of("key"));
    EXPECT_EQ(spare->key(), "key");
    EXPECT_EQ(spare->tree(), kTree);
    EXPECT_EQ(spare->hash(), Entry::hash_of("key"));
    EXPECT_TRUE(spare->is_empty());
  }
  EXPECT_EQ(memory.entries(), 0U);
}

// Prepares entries for several claims, with any number retained before and returned in between.
TEST(Writer, ManyArePreparedAtOnce) {
  EntryMemory memory;
  {
    const TablePtr table = MappingTable::make(memory);
    Writer writer(memory, WriterId{7});
    for (int i = 0; i < 5; ++i) {
      claim(*table, writer, std::to_string(i));
    }
    writer.end();
    table->prune([&](EntryPtr entry) { writer.recycle(std::move(entry)); });
    const std::string prefix(100, 'p');  // the short ones' memory is too small
    writer.prepare_many(20, prefix.size() + 2);
    table->reserve(20);
    for (int i = 0; i < 20; ++i) {
      EntryPtr small = Entry::make(memory, 1);
      small->rename(kTree, "s", Entry::hash_of("s"));
      writer.recycle(std::move(small));
      const std::string key = prefix + std::to_string(i);
      writer.add(table->insert(writer.take_prepared(kTree, key, Entry::hash_of(key)), writer.id()));
    }
    EXPECT_EQ(writer.claims(), 20U);
    for (int i = 0; i < 20; ++i) {
      ASSERT_NE(table->find(prefix + std::to_string(i)), nullptr);
    }
    writer.end();
    table->prune([](EntryPtr) {});
  }
  EXPECT_EQ(memory.entries(), 0U);
}

TEST(Writer, FailedPreparationChangesNothing) {
  if (!btree::test::kAllocationsCanFail) {
    GTEST_SKIP() << "allocations cannot be made to fail";
  }
  EntryMemory memory;
  const TablePtr table = MappingTable::make(memory);
  Writer writer(memory, WriterId{7});
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    const AllocationFault fault(nth);
    EXPECT_THROW(writer.prepare("key"), std::bad_alloc);
  }
  EXPECT_EQ(memory.entries(), 0U);
  claim(*table, writer, "key");
  writer.end();
  EXPECT_EQ(table->prune([](EntryPtr) {}), 1U);
}

// Writers end without the page's latch while another thread, holding it, prunes and splits: an
// entry is freed once, after its owner's last access. (The latch is a mutex here; sanitizers check
// the rest.)
TEST(Writer, EndsBesidePrunesAndSplits) {
  constexpr std::size_t kThreads = 6;
  constexpr int kRounds = 3000;
  EntryMemory memory;
  std::mutex latch;
  TablePtr left = MappingTable::make(memory);
  TablePtr right;
  // each belongs to the thread that has claimed its key
  std::vector<std::uint64_t> unshared(64, 0);
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    for (int round = 0; round < kRounds; ++round) {
      Writer writer(memory, WriterId{1 + thread + kThreads * static_cast<unsigned>(round)});
      for (int i = 0; i < 4; ++i) {
        const std::size_t number = (thread * 7 + static_cast<unsigned>(round * (i + 1))) % 64;
        const std::string key = "key" + std::to_string(number + 100);
        writer.prepare(key);
        const std::scoped_lock lock(latch);
        MappingTable& table = right != nullptr && key >= "key132" ? *right : *left;
        Entry* entry = table.find(key);
        if (entry == nullptr) {
          table.reserve(1);
          writer.add(
              table.insert(writer.take_prepared(kTree, key, Entry::hash_of(key)), writer.id()));
          ++unshared[number];
        } else if (entry->is_empty()) {
          table.take_over(*entry, writer.id());
          writer.add(*entry);
          ++unshared[number];
        }
        if (table.worth_pruning()) {
          table.prune([](EntryPtr) {});
        }
        if (right == nullptr && round % 3 == 0) {
          right = MappingTable::make(memory, left->count_from("key132"));
          left->split_off("key132", *right);
        } else if (right != nullptr && round % 3 == 1) {
          left->reserve(right->count());
          left->absorb(*right);
          right.reset();
        }
      }
    }
  });
  left->prune([](EntryPtr) {});
  EXPECT_EQ(left->count(), 0U);
  if (right != nullptr) {
    right->prune([](EntryPtr) {});
    EXPECT_EQ(right->count(), 0U);
  }
}

}  // namespace
}  // namespace palimpsest::versioning
