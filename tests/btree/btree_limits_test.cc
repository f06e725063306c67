// Keys, values, memory and disk at and beyond every limit: the error names the limit, and nothing
// breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/btree.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;

class BTreeLimits : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  BTreeLimits()
      : options_{.page_size_bytes = GetParam(), .frames = 32},
        device_(disk_.device()),
        database_(TreeDatabase::create(*device_, options_)) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }

  TreeOptions options_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

TEST_P(BTreeLimits, Keys) {
  const std::size_t limit = key_bytes_max(GetParam());
  const std::string longest(limit, 'k');
  const std::string too_long(limit + 1, 'k');
  std::string value;
  ASSERT_TRUE(tree().insert(longest, "longest"));
  ASSERT_TRUE(tree().insert(longest.substr(0, 1), "shortest"));
  for (const std::string& key : {std::string(), too_long}) {
    const std::string says = "a key of " + std::to_string(key.size()) + " bytes: keys have 1 to " +
                             std::to_string(limit) + " bytes";
    const auto expect_refused = [&](auto operation) {
      EXPECT_EQ(error_of(operation, says), ErrorCode::invalid_argument);
    };
    expect_refused([&] { static_cast<void>(tree().insert(key, "v")); });
    expect_refused([&] { tree().upsert(key, "v"); });
    expect_refused([&] { static_cast<void>(tree().update(key, "v")); });
    expect_refused([&] { static_cast<void>(tree().remove(key)); });
    expect_refused([&] { static_cast<void>(tree().lookup(key, value)); });
    expect_refused([&] { static_cast<void>(tree().modify(key, [](MutableBytes) {})); });
    expect_refused([&] { static_cast<void>(tree().insert(key, std::string(100'000, 'l'))); });
  }
  EXPECT_TRUE(tree().lookup(longest, value));
  EXPECT_EQ(value, "longest");
  EXPECT_TRUE(sound(*database_));  // the refused large value has not leaked pages
}

// Sizes around the limit at which a value moves out of its leaf, growing and shrinking.
TEST_P(BTreeLimits, ValuesAroundTheRecordLimit) {
  Random random(palimpsest::test::seed());
  const std::size_t limit = record_bytes_max(GetParam());
  std::map<std::string, std::string> model;
  for (int i = 0; i < 400; ++i) {
    const std::string key(random.between(1, key_bytes_max(GetParam())),
                          static_cast<char>('a' + random.below(8)));
    const std::string value(limit - key.size() + random.below(5) - 2, static_cast<char>(random()));
    const bool expect_new = !model.contains(key);
    ASSERT_EQ(tree().upsert(key, value), expect_new);
    model[key] = value;
    if (random.one_in(4)) {
      ASSERT_TRUE(tree().remove(key));
      model.erase(key);
    }
  }
  std::string value;
  for (const auto& [key, expected] : model) {
    ASSERT_TRUE(tree().lookup(key, value));
    ASSERT_EQ(value, expected);
  }
  EXPECT_TRUE(sound(*database_));
}

TEST_P(BTreeLimits, LargestValue) {
  const std::size_t bytes = kLargeValueBytesMax + 1;
  const std::unique_ptr<char[]> memory(new char[bytes]);  // reserved, never touched
  EXPECT_EQ(error_of([&] { static_cast<void>(tree().insert("key", {memory.get(), bytes})); },
                     std::to_string(kLargeValueBytesMax)),
            ErrorCode::invalid_argument);
  EXPECT_TRUE(sound(*database_));
}

TEST_P(BTreeLimits, ValuesInPlace) {
  ASSERT_TRUE(tree().insert("empty", ""));
  ASSERT_TRUE(tree().insert("large", std::string(100'000, 'l')));
  EXPECT_TRUE(tree().modify("empty", [](MutableBytes bytes) { EXPECT_TRUE(bytes.empty()); }));
  EXPECT_FALSE(tree().modify("absent", [](MutableBytes) { FAIL(); }));
  EXPECT_EQ(
      error_of([&] { static_cast<void>(tree().modify("large", [](MutableBytes) { FAIL(); })); },
               "outside its leaf"),
      ErrorCode::invalid_argument);
}

TEST_P(BTreeLimits, PoolMemory) {
  const std::uint64_t minimum = buffer::BufferPool::memory_bytes_min(GetParam());
  buffer::PageKinds kinds;
  EXPECT_EQ(error_of(
                [&] {
                  buffer::BufferPool(database_->file(), database_->writer(), database_->space(),
                                     kinds, {.memory_bytes = minimum - 1});
                },
                "the minimum is " + std::to_string(minimum) + " bytes"),
            ErrorCode::out_of_memory);
  // The fixture has exactly the minimum, and every other test passes with it.
  EXPECT_EQ(database_->pool().frame_count(), buffer::BufferPool::kFramesMin);
}

INSTANTIATE_TEST_SUITE_P(PageSizes, BTreeLimits, ::testing::Values(4096, 16384, 65536));

// A disk that fills up in the middle of splits and large values, empties and fills up again.
TEST(BTreeFullDisk, StaysUsable) {
  Random random(palimpsest::test::seed());
  const SimDisk disk({.capacity_bytes = 3U << 20});
  const auto device = disk.device();
  auto database = TreeDatabase::create(*device, {.page_size_bytes = 4096, .frames = 40});
  BTree& tree = database->tree();
  std::map<std::string, std::string> model;
  std::string value;
  for (int round = 0; round < 4; ++round) {
    int refused = 0;
    while (refused < 30) {
      const std::string key = test::big_endian(random.below(100'000));
      const std::string wanted(random.one_in(20) ? 5000 + random.below(60'000) : random.below(300),
                               static_cast<char>(random()));
      const auto code = error_of([&] { tree.upsert(key, wanted); }, "page");
      if (code) {
        ASSERT_EQ(*code, ErrorCode::no_space);
        ++refused;
      } else {
        model[key] = wanted;
      }
      const auto expected = model.find(key);
      ASSERT_EQ(tree.lookup(key, value), expected != model.end());
      if (expected != model.end()) {
        ASSERT_EQ(value, expected->second);
      }
    }
    ASSERT_TRUE(sound(*database));
    for (const auto& [key, expected] : model) {
      ASSERT_TRUE(tree.lookup(key, value));
      ASSERT_EQ(value, expected);
    }
    for (auto record = model.begin(); record != model.end();) {
      if (random.one_in(3)) {
        ++record;
        continue;
      }
      ASSERT_TRUE(tree.remove(record->first));
      record = model.erase(record);
    }
    ASSERT_TRUE(sound(*database));
  }
  database->close();
  database.reset();
  database = TreeDatabase::open(*device, {.page_size_bytes = 4096, .frames = 40});
  for (const auto& [key, expected] : model) {
    ASSERT_TRUE(database->tree().lookup(key, value));
    ASSERT_EQ(value, expected);
  }
  EXPECT_TRUE(sound(*database));
}

}  // namespace
}  // namespace palimpsest::btree
