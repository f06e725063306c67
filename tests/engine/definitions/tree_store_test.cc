// Trees that are given out, taken back and emptied: how many there are, and what memory they keep.
#include "engine/definitions/tree_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "palimpsest/error.h"

#include "tests/engine/database_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;

constexpr std::size_t kLarge = std::size_t{4} << 20U;
/// So many may wait to be emptied while others are made.
constexpr int kWaitingMax = 32;
constexpr int kMany = kWaitingMax + 16;

class TreeStoreTest : public ::testing::Test {
 protected:
  /// `memory_bytes`: 0 for the least there may be.
  void open(std::size_t memory_bytes) {
    database_.reset();
    device_ = disk_.device();
    DatabaseOptions options = small_options();
    options.memory_bytes = memory_bytes;
    options.log_bytes_max = 128 * wal::kSegmentBytesMin;
    database_ = Database::open(*device_, *device_, options);
  }
  [[nodiscard]] TreeStore& store() { return database_->tree_store(); }
  [[nodiscard]] std::size_t trees() { return database_->catalog().names().size(); }
  [[nodiscard]] bool make(int number) {
    const auto by = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
    const bool made = static_cast<bool>(database_->tables().create_table(
        *by, {.name = name(number), .columns = {{"id", int32()}}, .key = {"id"}}));
    by->commit();
    make_log_space();
    return made;
  }
  [[nodiscard]] bool drop(int number) {
    const auto by = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
    const bool dropped = static_cast<bool>(database_->tables().drop_table(*by, name(number)));
    by->commit();
    make_log_space();
    return dropped;
  }
  void make_and_drop_many() {
    for (int number = 0; number < kMany; ++number) {
      ASSERT_TRUE(make(number));
    }
    for (int number = 0; number < kMany; ++number) {
      ASSERT_TRUE(drop(number));
    }
  }

  std::unique_ptr<Database> database_;

 private:
  [[nodiscard]] static std::string name(int number) { return fmt::format("table {}", number); }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
};

TEST_F(TreeStoreTest, WhoDropsAndMakesFasterThanTreesAreEmptiedWaitsForOne) {
  open(kLarge);
  make_and_drop_many();
  ASSERT_EQ(store().waiting(), static_cast<std::size_t>(kMany));
  const std::size_t before = trees();
  ASSERT_TRUE(make(kMany));
  EXPECT_EQ(trees(), before + 1) << "nobody empties any";
  store().start();
  for (int number = kWaitingMax; number < kMany; ++number) {
    ASSERT_TRUE(make(number));
  }
  EXPECT_EQ(trees(), before + 1);
  while (store().waiting() != 0) {
    std::this_thread::yield();
  }
  store().stop();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TreeStoreTest, MoreTreesThanMemoryHasRoomForAreRefused) {
  open(0);
  int made = 0;
  const auto code = error_of(
      [&] {
        for (; made < 1000; ++made) {
          EXPECT_TRUE(make(made));
        }
        return made;
      },
      "memory_bytes has no room for more");
  EXPECT_EQ(code, ErrorCode::out_of_memory);
  EXPECT_GE(made, 20);
  EXPECT_LT(made, 32);
  // The others are as they were.
  ASSERT_TRUE(drop(0));
  while (store().step()) {
  }
  EXPECT_TRUE(make(0));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TreeStoreTest, TreesThatNobodyUsesLeaveRoomForOthersInASmallerMemory) {
  open(kLarge);
  make_and_drop_many();
  while (store().step()) {
  }
  const std::size_t before = trees();
  open(0);
  for (int number = 0; number < 16; ++number) {
    ASSERT_TRUE(make(number)) << "some trees were vacant, some are made";
  }
  EXPECT_GT(trees(), before);
  open(kLarge);
  for (int number = 16; number < kMany; ++number) {
    ASSERT_TRUE(make(number));
  }
  EXPECT_LT(trees(), before + 16) << "those that had been left closed are found again";
  EXPECT_TRUE(sound(*database_));
}

}  // namespace
}  // namespace palimpsest::engine::test
