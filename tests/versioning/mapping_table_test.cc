// Mapping tables against a map from keys to writers: finding, pruning, splitting, merging.
#include "versioning/mapping_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/btree/allocation_faults.h"
#include "tests/support/seed.h"
#include "versioning/table_attachment.h"

namespace palimpsest::versioning {
namespace {

using btree::test::AllocationFault;

constexpr TreeId kTree{3};

/// The expected contents of a table.
struct Expected {
  WriterId writer = kNoWriter;
  std::uint32_t reserved_bytes = 0;

  friend bool operator==(const Expected&, const Expected&) = default;
};
using Model = std::map<std::string, Expected>;

class MappingTableTest : public ::testing::Test {
 protected:
  MappingTableTest() : random_(palimpsest::test::seed()) {}

  // A table must be empty when it is destroyed: removes the entries that a test leaves.
  static void empty(MappingTable& table) {
    std::vector<std::string> keys;
    table.visit([&](const Entry& entry) { keys.emplace_back(entry.key()); });
    for (const std::string& key : keys) {
      static_cast<void>(table.erase(*table.find(key)));
    }
  }

  Entry& insert(MappingTable& table, const std::string& key, WriterId writer) {
    table.reserve(1);
    EntryPtr entry = Entry::make(memory_, key.size());
    entry->rename(kTree, key, Entry::hash_of(key));
    return table.insert(std::move(entry), writer);
  }

  static void expect_equal(const MappingTable& table, const Model& model) {
    EXPECT_EQ(table.count(), model.size());
    Model found;
    std::uint64_t reserved_bytes = 0;
    std::size_t empty = 0;
    table.visit([&](const Entry& entry) {
      found[std::string(entry.key())] = {entry.writer(), entry.reserved_bytes()};
      reserved_bytes += entry.reserved_bytes();
      empty += entry.is_empty() ? 1U : 0U;
      EXPECT_EQ(table.find(entry.key()), &entry);
    });
    EXPECT_EQ(found, model);
    EXPECT_EQ(table.reserved_bytes(), reserved_bytes);
    EXPECT_EQ(table.empty_count(), empty);
  }

  std::string some_key() {
    return std::string(random_.below(3), 'k') + std::to_string(random_.below(300));
  }

  /// One random change of a table and its model.
  void step(MappingTable& table, Model& model) {
    const std::string key = some_key();
    Entry* entry = table.find(key);
    const auto record = model.find(key);
    ASSERT_EQ(entry != nullptr, record != model.end()) << key;
    const WriterId writer{1 + random_.below(5)};
    if (entry == nullptr) {
      insert(table, key, writer);
      model[key] = {writer, 0};
      return;
    }
    ASSERT_EQ(entry->tree(), kTree);
    switch (random_.below(8)) {
      case 0:
        EXPECT_EQ(table.erase(*entry)->key(), key);
        model.erase(record);
        break;
      case 1:
      case 2:
        if (!entry->is_empty()) {
          entry->release();
          record->second.writer = kNoWriter;
        }
        break;
      case 3:
        if (entry->is_empty()) {
          table.take_over(*entry, writer);
          record->second = {writer, 0};
        }
        break;
      default:
        record->second.reserved_bytes = static_cast<std::uint32_t>(random_.below(500));
        table.set_reserved(*entry, record->second.reserved_bytes);
    }
  }

  static std::size_t drop_empty(Model& model) {
    return std::erase_if(model,
                         [](const auto& record) { return record.second.writer == kNoWriter; });
  }

  EntryMemory memory_;
  Random random_;
};

TEST_F(MappingTableTest, HoldsWhatTheModelHolds) {
  const TablePtr table = MappingTable::make(memory_);
  Model model;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_NO_FATAL_FAILURE(step(*table, model));
    if (random_.one_in(500)) {
      ASSERT_NO_FATAL_FAILURE(expect_equal(*table, model));
      std::vector<std::string> freed;
      const std::size_t count = table->prune([&](const EntryPtr& entry) {
        freed.emplace_back(entry->key());
        EXPECT_EQ(model.at(freed.back()).writer, kNoWriter);
      });
      EXPECT_EQ(count, freed.size());
      EXPECT_EQ(count, drop_empty(model));
      ASSERT_NO_FATAL_FAILURE(expect_equal(*table, model));
    }
  }
  empty(*table);
}

TEST_F(MappingTableTest, SplitsAndMergesMoveTheEntriesThemselves) {
  for (int round = 0; round < 300; ++round) {
    const TablePtr left = MappingTable::make(memory_);
    Model model;
    for (std::uint64_t i = random_.below(200); i > 0; --i) {
      ASSERT_NO_FATAL_FAILURE(step(*left, model));
    }
    std::map<std::string, const Entry*> where;
    left->visit([&](const Entry& entry) { where[std::string(entry.key())] = &entry; });
    const std::string separator = some_key();
    const auto first = model.lower_bound(separator);
    const Model right_model(first, model.end());
    const Model left_model(model.begin(), first);
    EXPECT_EQ(left->count_from(separator), right_model.size());
    const TablePtr right = MappingTable::make(memory_, right_model.size());
    left->split_off(separator, *right);
    ASSERT_NO_FATAL_FAILURE(expect_equal(*left, left_model));
    ASSERT_NO_FATAL_FAILURE(expect_equal(*right, right_model));
    EXPECT_TRUE(right->worth_pruning()) << "what came may be empty";
    left->reserve(right->count());
    static_cast<void>(left->prune([](EntryPtr) {}));
    std::erase_if(model, [&](const auto& record) {
      return record.first < separator && record.second.writer == kNoWriter;
    });
    left->absorb(*right);
    EXPECT_TRUE(left->worth_pruning()) << "what came may be empty";
    ASSERT_NO_FATAL_FAILURE(expect_equal(*left, model));
    ASSERT_NO_FATAL_FAILURE(expect_equal(*right, {}));
    left->visit([&](const Entry& entry) { EXPECT_EQ(where[std::string(entry.key())], &entry); });
    empty(*left);
  }
}

// When entries move, the age of their versions moves with them.
TEST_F(MappingTableTest, TheYoungestStartGoesWithTheEntries) {
  const TablePtr left = MappingTable::make(memory_);
  insert(*left, "a", WriterId{1});
  insert(*left, "m", WriterId{1});
  EXPECT_EQ(left->youngest(), Gsn{0});
  left->left_version(Gsn{7});
  left->left_version(Gsn{5});
  EXPECT_EQ(left->youngest(), Gsn{7});
  const TablePtr right = MappingTable::make(memory_, 1);
  left->split_off("m", *right);
  EXPECT_EQ(left->youngest(), Gsn{7});
  EXPECT_EQ(right->youngest(), Gsn{7});
  right->left_version(Gsn{9});
  left->absorb(*right);
  EXPECT_EQ(left->youngest(), Gsn{9});
  empty(*left);
}

// The table that holds an entry notices its release, wherever the entry has moved.
TEST_F(MappingTableTest, ReleasesAreNoticedWhereTheEntryIs) {
  const TablePtr left = MappingTable::make(memory_);
  Entry& entry = insert(*left, "m", WriterId{1});
  const TablePtr right = MappingTable::make(memory_, 1);
  left->split_off("m", *right);
  static_cast<void>(right->prune([](EntryPtr) {}));
  EXPECT_FALSE(right->worth_pruning());
  entry.release();
  EXPECT_EQ(right->empty_hint(), 1U);
  EXPECT_FALSE(right->worth_pruning()) << "a small table is left alone as long as it has room";
  EXPECT_EQ(right->prune([](EntryPtr) {}), 1U);
}

// A small table reuses one empty entry at a time; a large one prunes.
TEST_F(MappingTableTest, TakesAnEmptyEntryOfASmallTable) {
  const TablePtr table = MappingTable::make(memory_);
  Entry& busy = insert(*table, "busy", WriterId{1});
  EXPECT_EQ(table->take_empty(), nullptr);
  Entry& idle = insert(*table, "idle", WriterId{2});
  table->set_reserved(idle, 17);
  idle.release();
  const EntryPtr taken = table->take_empty();
  EXPECT_EQ(taken.get(), &idle);
  EXPECT_EQ(table->reserved_bytes(), 0U);
  EXPECT_EQ(table->find("idle"), nullptr);
  EXPECT_EQ(table->find("busy"), &busy);
  EXPECT_EQ(table->take_empty(), nullptr);
  for (int i = 0; i < 4; ++i) {
    insert(*table, std::to_string(i), WriterId{1}).release();
  }
  EXPECT_EQ(table->take_empty(), nullptr) << "it is large now";
  EXPECT_EQ(table->prune([](EntryPtr) {}), 4U);
  empty(*table);
}

TEST_F(MappingTableTest, AFewEmptyEntriesAreLeftForLater) {
  const TablePtr table = MappingTable::make(memory_);
  std::vector<Entry*> entries;
  entries.reserve(100);
  for (int i = 0; i < 100; ++i) {
    entries.push_back(&insert(*table, std::to_string(i), WriterId{1}));
  }
  std::size_t released = 0;
  while (!table->worth_pruning()) {
    entries[released++]->release();
  }
  EXPECT_EQ(released, 13U);
  EXPECT_EQ(table->prune([](EntryPtr) {}), 13U);
  int looks = 0;
  while (!table->worth_pruning()) {
    ++looks;
  }
  EXPECT_EQ(looks, 64) << "the hint may miss some";
  empty(*table);
}

TEST_F(MappingTableTest, MemoryIsCounted) {
  EXPECT_EQ(memory_.bytes_in_use(), 0U);
  {
    const TablePtr table = MappingTable::make(memory_);
    const std::uint64_t table_alone = memory_.bytes_in_use();
    EXPECT_GE(table_alone, sizeof(MappingTable));
    insert(*table, std::string(100, 'x'), WriterId{1}).release();
    const std::uint64_t entry = memory_.bytes_in_use() - table_alone;
    EXPECT_GE(entry, sizeof(Entry) + 100);
    EXPECT_LT(entry, sizeof(Entry) + 100 + kCacheLineBytes) << "whole lines, no more";
    EXPECT_EQ(entry % kCacheLineBytes, 0U);
    EXPECT_EQ(memory_.entries(), 1U);
    EXPECT_EQ(memory_.tables(), 1U);
    EXPECT_EQ(table->prune([](EntryPtr) {}), 1U);
    EXPECT_EQ(memory_.bytes_in_use(), table_alone);
  }
  EXPECT_EQ(memory_.bytes_in_use(), 0U);
  EXPECT_EQ(memory_.tables(), 0U);
}

TEST_F(MappingTableTest, FailedAllocationsChangeNothing) {
  if (!btree::test::kAllocationsCanFail) {
    GTEST_SKIP() << "allocations cannot be made to fail";
  }
  const TablePtr table = MappingTable::make(memory_);
  Model model;
  std::uint64_t failed = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t bytes = memory_.bytes_in_use();
    try {
      const AllocationFault fault(1);
      table->reserve(1);
    } catch (const std::bad_alloc&) {
      ++failed;
      EXPECT_EQ(memory_.bytes_in_use(), bytes);
      ASSERT_NO_FATAL_FAILURE(expect_equal(*table, model));
    }
    insert(*table, std::to_string(i), WriterId{1});
    model[std::to_string(i)] = {WriterId{1}, 0};
  }
  EXPECT_GE(failed, 5U);
  const std::uint64_t bytes = memory_.bytes_in_use();
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    const AllocationFault fault(nth);
    EXPECT_THROW(static_cast<void>(MappingTable::make(memory_, 100)), std::bad_alloc);
  }
  EXPECT_EQ(memory_.bytes_in_use(), bytes);
  EXPECT_EQ(memory_.tables(), 1U);
  empty(*table);
}

// The pool retains a table only if it has entries in use.
TEST_F(MappingTableTest, AttachmentKeepsTablesInUseOnly) {
  TableAttachment attachment(memory_);
  MappingTable& table = *MappingTable::make(memory_).release();
  Entry& kept = insert(table, "kept", WriterId{1});
  insert(table, "gone", WriterId{2}).release();
  EXPECT_EQ(attachment.detach(table, PageId{7}), &table);
  EXPECT_EQ(table.count(), 1U);
  EXPECT_TRUE(attachment.prune(table));
  EXPECT_EQ(attachment.attach(table), &table);
  kept.release();
  EXPECT_EQ(attachment.detach(table, PageId{7}), nullptr);
  EXPECT_EQ(memory_.tables(), 0U);
  EXPECT_EQ(memory_.entries(), 0U);
}

// Several pages at a time: of some tables nothing remains, of some a part does.
TEST_F(MappingTableTest, SeveralArePrunedTogether) {
  TableAttachment attachment(memory_);
  std::vector<buffer::Hanging> tables;
  std::vector<Model> models;
  for (std::size_t number = 0; number < 7; ++number) {
    MappingTable& table = *MappingTable::make(memory_, 0).release();
    Model& model = models.emplace_back();
    for (std::size_t i = 0; i < 10 * number + 1; ++i) {
      const std::string key = "key" + std::to_string(i);
      const bool is_used = number % 2 == 0 && i % 3 == 0;
      const WriterId writer{7};
      Entry& entry = insert(table, key, writer);
      if (is_used) {
        model[key] = {.writer = writer};
      } else {
        entry.release();
      }
    }
    tables.push_back({.what = &table, .page = {}});
  }
  attachment.prune_all(tables);
  for (std::size_t number = 0; number < tables.size(); ++number) {
    if (number % 2 != 0) {
      EXPECT_EQ(tables[number].what, nullptr);
      continue;
    }
    ASSERT_NE(tables[number].what, nullptr);
    auto& table = static_cast<MappingTable&>(*tables[number].what);
    expect_equal(table, models[number]);
    empty(table);
    MappingTable::destroy(table);
  }
  EXPECT_EQ(memory_.tables(), 0U);
}

}  // namespace
}  // namespace palimpsest::versioning
