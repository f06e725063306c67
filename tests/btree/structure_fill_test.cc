// How full splits leave the leaves, and how many pages merges free.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/audit.h"
#include "btree/structure.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using test::big_endian;

constexpr std::uint64_t kRecords = 30'000;

class StructureFill : public ::testing::Test {
 protected:
  StructureFill()
      : random_(palimpsest::test::seed()),
        device_(disk_.device()),
        database_(TreeDatabase::create(*device_, {.page_size_bytes = 4096, .frames = 100})) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }

  void insert(const std::string& key) { ASSERT_TRUE(tree().insert(key, std::string(60, 'v'))); }

  /// Average fill of the leaves of a sound tree.
  [[nodiscard]] double leaf_fill() {
    const TreeAudit audited = audit(tree());
    EXPECT_TRUE(audited.sound()) << audited.text();
    RecordProperty("leaf_fill", std::to_string(audited.leaves().fill()));
    return audited.leaves().fill();
  }

  [[nodiscard]] std::vector<std::string> shuffled_keys() {
    std::vector<std::string> keys;
    keys.reserve(kRecords);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      keys.push_back(big_endian(i));
    }
    std::ranges::shuffle(keys, random_);
    return keys;
  }

  /// After all records are removed: only the root is left, and no page has leaked.
  void expect_one_page() {
    const TreeAudit audited = audit(tree());
    EXPECT_EQ(audited.node_count(), 1U) << audited.text();
    EXPECT_EQ(audited.leaves().entries, 0U);
    EXPECT_TRUE(sound(*database_));
  }

  Random random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

// The leaf at an end of the tree has no prefix. Once split off, a full leaf shrinks by the common
// prefix of its keys: 7 of 80 bytes a record here.
TEST_F(StructureFill, AscendingKeys) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    insert(big_endian(i));
  }
  EXPECT_GE(leaf_fill(), 0.90);
}

TEST_F(StructureFill, DescendingKeys) {
  for (std::uint64_t i = kRecords; i-- > 0;) {
    insert(big_endian(i));
  }
  EXPECT_GE(leaf_fill(), 0.90);
}

TEST_F(StructureFill, AscendingKeysOfLongRecords) {
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), std::string(170, 'v')));
  }
  EXPECT_GE(leaf_fill(), 0.92);
}

TEST_F(StructureFill, RandomKeys) {
  for (const std::string& key : shuffled_keys()) {
    insert(key);
  }
  EXPECT_GE(leaf_fill(), 0.65);
}

// As TPC-C's orders of many districts: each stream ascends, in the middle of the tree.
TEST_F(StructureFill, InterleavedAscendingStreams) {
  constexpr std::uint64_t kStreams = 50;
  std::vector<std::uint64_t> next(kStreams, 0);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    const std::uint64_t stream = random_.below(kStreams);
    insert(big_endian(stream) + big_endian(next[stream]++));
  }
  EXPECT_GE(leaf_fill(), 0.80);
}

TEST_F(StructureFill, InterleavedDescendingStreams) {
  constexpr std::uint64_t kStreams = 50;
  std::vector<std::uint64_t> next(kStreams, kRecords);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    const std::uint64_t stream = random_.below(kStreams);
    insert(big_endian(stream) + big_endian(next[stream]--));
  }
  EXPECT_GE(leaf_fill(), 0.80);
}

// A few out-of-order keys among the ascending ones must not undo it.
TEST_F(StructureFill, AscendingKeysWithStragglers) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    insert(big_endian(i * 10));
    if (i % 50 == 49) {
      insert(big_endian((i - random_.below(40)) * 10 - 5));
    }
  }
  EXPECT_GE(leaf_fill(), 0.75);
}

TEST_F(StructureFill, RemovingAllAscendingLeavesOnePage) {
  for (const std::string& key : shuffled_keys()) {
    insert(key);
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().remove(big_endian(i)));
  }
  expect_one_page();
}

TEST_F(StructureFill, RemovingAllDescendingLeavesOnePage) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    insert(big_endian(i));
  }
  for (std::uint64_t i = kRecords; i-- > 0;) {
    ASSERT_TRUE(tree().remove(big_endian(i)));
  }
  expect_one_page();
}

TEST_F(StructureFill, RemovingAllAtRandomLeavesOnePage) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    if (i % 1000 == 0) {  // and its extent
      ASSERT_TRUE(tree().insert(big_endian(i), std::string(20'000, 'l')));
    } else {
      insert(big_endian(i));
    }
  }
  for (const std::string& key : shuffled_keys()) {
    ASSERT_TRUE(tree().remove(key));
  }
  expect_one_page();
}

TEST_F(StructureFill, RemovingMostAtRandomGivesPagesBack) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    insert(big_endian(i));
  }
  const std::uint64_t nodes_before = audit(tree()).node_count();
  std::vector<std::string> keys = shuffled_keys();
  keys.resize(kRecords / 10 * 9);
  for (const std::string& key : keys) {
    ASSERT_TRUE(tree().remove(key));
  }
  const TreeAudit audited = audit(tree());
  EXPECT_EQ(audited.leaves().entries, kRecords - keys.size());
  EXPECT_LE(audited.node_count(), nodes_before / 3) << audited.text();
  EXPECT_GE(audited.leaves().fill(), 0.3);
  EXPECT_TRUE(sound(*database_));
}

// Keys at the limit: inner nodes of a few children, many levels, merges of inner nodes.
TEST_F(StructureFill, LongKeysComeAndGo) {
  std::vector<std::string> keys;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    keys.push_back(test::random_bytes(random_, 8) + std::string(490, 'k') + big_endian(i));
    keys.back().insert(0, 490 - 8, 'p');
    keys.back().resize(512);
  }
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  std::ranges::shuffle(keys, random_);
  for (const std::string& key : keys) {
    insert(key);
  }
  ASSERT_TRUE(sound(*database_));
  std::ranges::shuffle(keys, random_);
  for (const std::string& key : keys) {
    ASSERT_TRUE(tree().remove(key));
  }
  expect_one_page();
}

}  // namespace
}  // namespace palimpsest::btree
