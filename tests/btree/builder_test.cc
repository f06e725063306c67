// A tree built bottom-up is the tree that insertions would have made, or the tree as it was.
#include "btree/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/audit.h"
#include "btree/cursor.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;
using test::KeyShape;

using Records = std::map<std::string, std::string>;

Records random_records(Random& random, KeyShape shape, std::uint32_t page_size, std::size_t tries) {
  Records records;
  for (std::size_t i = 0; i < tries; ++i) {
    std::string key = test::random_key(random, shape, page_size);
    std::string value = random.one_in(100)
                            ? test::random_bytes(random, random.below(std::size_t{6} * page_size))
                            : test::random_value(random, key.size(), page_size);
    records.emplace(std::move(key), std::move(value));
  }
  return records;
}

void build(BTree& tree, const Records& records, double fill_factor) {
  TreeBuilder builder(tree, fill_factor);
  for (const auto& [key, value] : records) {
    builder.add(key, value);
  }
  builder.finish();
  EXPECT_EQ(builder.records(), records.size());
}

/// Whether the tree holds these records and nothing else, and is sound.
void expect_holds(TreeDatabase& database, const Records& records) {
  Cursor cursor(database.tree(), 100);
  cursor.seek_first();
  std::string value;
  for (const auto& [key, expected] : records) {
    ASSERT_TRUE(cursor.valid());
    ASSERT_EQ(cursor.key(), key);
    ASSERT_TRUE(cursor.read_value(value));
    ASSERT_EQ(value, expected);
    cursor.next();
  }
  ASSERT_FALSE(cursor.valid());
  ASSERT_TRUE(sound(database));
}

class BuilderTest : public ::testing::Test {
 protected:
  void make(const TreeOptions& options) {
    options_ = options;
    database_.reset();
    disk_ = SimDisk();
    device_ = disk_.device();
    database_ = TreeDatabase::create(*device_, options);
  }
  void reopen() {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, options_);
  }
  [[nodiscard]] BTree& tree() { return database_->tree(); }

  SimDisk disk_;
  TreeOptions options_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

TEST_F(BuilderTest, EqualsInsertionsForAllShapesOfKeys) {
  Random random(palimpsest::test::seed());
  for (const std::uint32_t page_size : {4096U, 16384U, 65536U}) {
    for (const KeyShape shape : test::kKeyShapes) {
      SCOPED_TRACE(std::to_string(page_size) + " " + std::to_string(static_cast<int>(shape)));
      make({.page_size_bytes = page_size, .frames = 40});
      const PageId root = tree().root_page();
      const Records records =
          random_records(random, shape, page_size, random.below((6U << 20) / page_size));
      build(tree(), records, 0.1 + 0.9 * random.unit());
      EXPECT_EQ(tree().root_page(), root);
      ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, records));
      reopen();
      ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, records));
    }
  }
}

// Around the places where a level gets its next node.
TEST_F(BuilderTest, EveryNumberOfRecords) {
  for (std::uint64_t count = 0; count <= 130; ++count) {
    SCOPED_TRACE(count);
    make({.page_size_bytes = 4096, .frames = 64});
    Records records;
    for (std::uint64_t i = 0; i < count; ++i) {
      records.emplace(test::big_endian(i) + std::string(500, 'k'), std::string(300, 'v'));
    }
    build(tree(), records, 1.0);
    ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, records));
    // It is a tree like any other.
    for (const auto& [key, value] : records) {
      ASSERT_TRUE(tree().insert(key + "a", value));
      ASSERT_TRUE(tree().remove(key));
    }
    ASSERT_TRUE(sound(*database_));
  }
}

TEST_F(BuilderTest, ReachesTheFillFactor) {
  for (const double fill_factor : {0.3, 0.5, 0.7, 0.9, 1.0}) {
    make({.page_size_bytes = 4096, .frames = 64});
    {
      TreeBuilder builder(tree(), fill_factor);
      for (std::uint64_t i = 0; i < 40'000; ++i) {
        builder.add(test::big_endian(i), "a value of 24 bytes here");
      }
      builder.finish();
    }
    const TreeAudit audited = audit(tree());
    ASSERT_TRUE(audited.sound()) << audited.text();
    EXPECT_GT(audited.leaves().fill(), fill_factor - 0.03);
    EXPECT_LT(audited.leaves().fill(), fill_factor + 0.01);
  }
}

TEST_F(BuilderTest, LargerThanMemory) {
  make({.page_size_bytes = 4096, .frames = 32});
  const std::uint64_t records = 60'000;
  const auto value_of = [](std::uint64_t i) { return std::string(100, static_cast<char>(i)); };
  {
    TreeBuilder builder(tree());
    for (std::uint64_t i = 0; i < records; ++i) {
      builder.add(test::big_endian(i), value_of(i));
    }
    builder.finish();
  }
  for (int round = 0; round < 2; ++round) {
    Cursor cursor(tree(), 100);
    cursor.seek_first();
    for (std::uint64_t i = 0; i < records; ++i, cursor.next()) {
      ASSERT_TRUE(cursor.valid());
      ASSERT_EQ(cursor.key(), test::big_endian(i));
      ASSERT_EQ(cursor.value(), value_of(i));
    }
    ASSERT_FALSE(cursor.valid());
    const TreeAudit audited = audit(tree());
    ASSERT_TRUE(audited.sound()) << audited.text();
    EXPECT_GT(audited.node_count(), 50 * 32U);
    ASSERT_TRUE(sound(*database_));
    reopen();
  }
}

class BuilderErrors : public BuilderTest {
 protected:
  void SetUp() override {
    make({.page_size_bytes = 4096, .frames = 64});
    allocated_before_ = database_->space().counts().allocated;
  }
  /// Some records, a large one among them, so that there is something to give back.
  void add_some(TreeBuilder& builder) {
    for (std::uint64_t i = 0; i < 1000; ++i) {
      builder.add(test::big_endian(i), i == 500 ? std::string(20'000, 'l') : std::string(50, 'v'));
    }
  }
  /// The builder has given everything back and takes no more; the tree is empty and works.
  void expect_nothing_left(TreeBuilder* builder) {
    if (builder != nullptr) {
      EXPECT_EQ(error_of([&] { builder->add("zzzzzzzzz", ""); }), ErrorCode::failed);
      EXPECT_EQ(error_of([&] { builder->finish(); }), ErrorCode::failed);
    }
    EXPECT_EQ(database_->space().counts().allocated, allocated_before_);
    ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, {}));
    ASSERT_TRUE(tree().insert("a", "b"));
    ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, {{"a", "b"}}));
  }

  std::uint64_t allocated_before_ = 0;
};

TEST_F(BuilderErrors, KeysMustAscend) {
  TreeBuilder builder(tree());
  add_some(builder);
  EXPECT_EQ(error_of([&] { builder.add(test::big_endian(999), "again"); }, "record 1001"),
            ErrorCode::invalid_argument);
  expect_nothing_left(&builder);
}

TEST_F(BuilderErrors, KeysHaveLimits) {
  {
    TreeBuilder builder(tree());
    add_some(builder);
    EXPECT_EQ(error_of([&] { builder.add("", "value"); }, "record 1001: a key of 0 bytes"),
              ErrorCode::invalid_argument);
  }
  TreeBuilder builder(tree());
  builder.add(std::string(512, 'a'), "longest");
  EXPECT_EQ(error_of([&] { builder.add(std::string(513, 'b'), ""); },
                     "record 2: a key of 513 bytes: keys have 1 to 512 bytes"),
            ErrorCode::invalid_argument);
  expect_nothing_left(&builder);
}

TEST_F(BuilderErrors, FillFactorHasLimits) {
  for (const double fill_factor :
       {0.0, 0.09, 1.01, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(error_of([&] { TreeBuilder builder(tree(), fill_factor); }, "fill factor"),
              ErrorCode::invalid_argument);
  }
}

TEST_F(BuilderErrors, TreeNotEmptyAtTheBeginning) {
  ASSERT_TRUE(tree().insert("a", "b"));
  EXPECT_EQ(error_of([&] { TreeBuilder builder(tree()); }, "tree 7 is not empty"),
            ErrorCode::invalid_argument);
}

TEST_F(BuilderErrors, TreeNotEmptyAtTheEnd) {
  TreeBuilder builder(tree());
  add_some(builder);
  ASSERT_TRUE(tree().insert("a", "meanwhile"));
  EXPECT_EQ(error_of([&] { builder.finish(); }, "tree 7 is not empty"),
            ErrorCode::invalid_argument);
  ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, {{"a", "meanwhile"}}));
  ASSERT_TRUE(tree().remove("a"));
  expect_nothing_left(&builder);
}

TEST_F(BuilderErrors, DestroyedUnfinished) {
  {
    TreeBuilder builder(tree());
    add_some(builder);
  }
  expect_nothing_left(nullptr);
}

TEST_F(BuilderErrors, FinishedIsFinished) {
  TreeBuilder builder(tree());
  builder.add("a", "b");
  builder.finish();
  EXPECT_EQ(error_of([&] { builder.finish(); }), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { builder.add("b", "c"); }), ErrorCode::failed);
  ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, {{"a", "b"}}));
}

// No space at the n-th time the file grows, a failed write at the n-th write: for every n.
TEST_F(BuilderTest, FaultAtEveryPointLeaksNothing) {
  struct Case {
    unsigned kinds;
    int error;
    ErrorCode code;
  };
  for (const Case& fault : {Case{unsigned(SimKind::allocate), ENOSPC, ErrorCode::no_space},
                            Case{unsigned(SimKind::write), ENOSPC, ErrorCode::no_space},
                            Case{unsigned(SimKind::write), EIO, ErrorCode::io_error}}) {
    bool failed = true;
    std::uint64_t nth = 1;
    for (; failed; ++nth) {
      SCOPED_TRACE(nth);
      make({.page_size_bytes = 4096, .frames = 64});
      const std::uint64_t allocated = database_->space().counts().allocated;
      disk_.inject({.error = fault.error, .kinds = fault.kinds, .nth = nth, .for_good = true});
      const auto code = error_of([&] {
        TreeBuilder builder(tree());
        for (std::uint64_t i = 0; i < 15'000; ++i) {
          builder.add(test::big_endian(i),
                      i % 5000 == 4000 ? std::string(100'000, 'l') : std::string(100, 'v'));
        }
        builder.finish();
      });
      disk_.clear_faults();
      failed = code.has_value();
      if (failed) {
        ASSERT_EQ(*code, fault.code);
        ASSERT_EQ(database_->space().counts().allocated, allocated);
        ASSERT_NO_FATAL_FAILURE(expect_holds(*database_, {}));
      } else {
        ASSERT_TRUE(sound(*database_));
      }
    }
    EXPECT_GT(nth, 3U);
  }
}

TEST_F(BuilderTest, FullDisk) {
  std::vector<bool> fits;
  for (std::uint64_t mebibytes = 2; mebibytes < 10; ++mebibytes) {
    SCOPED_TRACE(mebibytes);
    database_.reset();
    disk_ = SimDisk({.capacity_bytes = mebibytes << 20});
    device_ = disk_.device();
    database_ = TreeDatabase::create(*device_, {});
    const auto code = error_of([&] {
      TreeBuilder builder(tree());
      for (std::uint64_t i = 0; i < 40'000; ++i) {
        builder.add(test::big_endian(i), std::string(100, 'v'));
      }
      builder.finish();
    });
    EXPECT_EQ(code.value_or(ErrorCode::no_space), ErrorCode::no_space);
    fits.push_back(!code.has_value());
    ASSERT_TRUE(sound(*database_));
  }
  EXPECT_FALSE(fits.front());
  EXPECT_TRUE(fits.back());
  EXPECT_TRUE(std::ranges::is_sorted(fits));
}

}  // namespace
}  // namespace palimpsest::btree
