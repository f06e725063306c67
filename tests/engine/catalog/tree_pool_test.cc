// The pool of trees: allocating, returning and emptying them, their maximum number, their memory.
#include "engine/catalog/tree_pool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/log_recorder.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;
using palimpsest::test::eventually;
using palimpsest::test::SimDisk;

constexpr std::size_t kLarge = std::size_t{4} << 20U;
/// So many may wait to be emptied while others are made.
constexpr int kWaitingMax = 32;
constexpr int kMany = 48;
/// More than fit the smallest memory.
constexpr int kTooMany = 3000;

class TreePoolTest : public ::testing::Test {
 protected:
  ~TreePoolTest() override { database_.reset(); }  // before its devices
  /// `memory_bytes`: 0 for the smallest allowed.
  void open(std::size_t memory_bytes) {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.memory_bytes = memory_bytes;
    options.log_bytes_max = 128 * wal::kSegmentBytesMin;
    options.log = recorder_.function();
    database_ = Engine::open(*device_, *device_, options);
  }
  [[nodiscard]] TreePool& store() { return database_->tree_pool(); }
  [[nodiscard]] std::size_t trees() { return database_->catalog().names().size(); }
  [[nodiscard]] bool make(int number) {
    const auto by = begin_definer();
    const bool made = static_cast<bool>(database_->tables().create_table(
        *by, {.name = name(number), .columns = {{"id", int32()}}, .key = {"id"}}));
    by->commit();
    make_log_space();
    return made;
  }
  [[nodiscard]] bool drop(int number) {
    const auto by = begin_definer();
    const bool dropped = static_cast<bool>(database_->tables().drop_table(*by, name(number)));
    by->commit();
    make_log_space();
    return dropped;
  }
  /// Makes tables of these numbers and up; returns the number that is refused.
  [[nodiscard]] int make_until_refused(int number) {
    const auto code = error_of(
        [&] {
          for (; number < kTooMany; ++number) {
            EXPECT_TRUE(make(number));
          }
          return number;
        },
        "has room for at most");
    EXPECT_EQ(code, ErrorCode::out_of_memory);
    return number;
  }
  [[nodiscard]] const TableDefinition* only_table() {
    return database_->tables().all().front()->visible_to(nullptr);
  }
  void damage(PageId page) {
    database_.reset();
    const std::uint64_t at = raw(page) * small_options().pages.page_size_bytes + 2000;
    const std::array byte{disk_.contents(buffer::kPageFileName).at(at) ^ std::byte{0x20}};
    disk_.overwrite(buffer::kPageFileName, at, byte);
  }
  /// Its snapshot reads versions, and its changes leave some.
  [[nodiscard]] txn::TransactionPtr begin() { return database_->begin(); }
  void make_and_drop_many() {
    for (int number = 0; number < kMany; ++number) {
      ASSERT_TRUE(make(number));
    }
    for (int number = 0; number < kMany; ++number) {
      ASSERT_TRUE(drop(number));
    }
  }

  palimpsest::test::LogRecorder recorder_;
  std::unique_ptr<Engine> database_;

 private:
  [[nodiscard]] txn::TransactionPtr begin_definer() {
    return database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
  }
  [[nodiscard]] static std::string name(int number) { return fmt::format("table {}", number); }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
};

// A step reads what it removes, but not all of the rest each time.
TEST_F(TreePoolTest, ALargeTreeIsEmptiedFromItsFrontOn) {
  open(kLarge / 8);
  const auto definer = begin();
  btree::BTree& tree = store().take(*definer);
  definer->commit();
  for (int batch = 0; batch < 200; ++batch) {
    const auto writer = begin();
    for (int i = 0; i < 100; ++i) {
      const std::string key = fmt::format("{:08}", batch * 100 + i);
      ASSERT_FALSE(writer->insert(tree, key, std::string(100, 'v')).conflict);
    }
    writer->commit();
    database_->checkpointer().run();
  }
  const std::uint64_t leaves = database_->space().counts().allocated;
  EXPECT_GT(leaves, 500U);
  const std::uint64_t read_before = database_->file().pages_read();
  store().give_back(std::array{&tree});
  for (int steps = 0; store().waiting() != 0; ++steps) {
    ASSERT_TRUE(store().step());
    if (steps % 4 == 0) {
      database_->checkpointer().run();
    }
  }
  EXPECT_LT(database_->file().pages_read() - read_before, 10 * leaves);
  EXPECT_TRUE(sound(*database_));
}

// An open writer retains all dropped trees, so that none can be emptied before it ends.
TEST_F(TreePoolTest, CreatingTreesFasterThanTheyAreEmptiedWaits) {
  open(kLarge);
  constexpr auto kPatience = std::chrono::milliseconds(100);
  TreePool store(database_->catalog(), database_->transactions(), kPatience);
  store.open({});
  const auto taker = database_->transactions().begin();  // without a snapshot
  std::vector<btree::BTree*> waiting;
  waiting.reserve(kWaitingMax);
  for (int number = 0; number < kWaitingMax; ++number) {
    waiting.push_back(&store.take(*taker));
  }
  const auto writer = begin();
  for (btree::BTree* const tree : waiting) {
    ASSERT_FALSE(writer->insert(*tree, "key", "value").conflict);
  }
  store.give_back(waiting);
  store.start();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(waiting, ::testing::Not(::testing::Contains(&store.take(*taker))));
  EXPECT_GE(std::chrono::steady_clock::now() - start, kPatience);
  writer->rollback();
  EXPECT_TRUE(eventually([&] { return store.waiting() == 0; }));
  EXPECT_THAT(waiting, ::testing::Contains(&store.take(*taker)));
  store.stop();
}

TEST_F(TreePoolTest, MoreTreesThanMemoryHasRoomForAreRefused) {
  open(0);
  const int made = make_until_refused(0);
  EXPECT_GT(made, 50 * buffer::BufferPool::kFramesMin);
  // All other trees are unchanged.
  ASSERT_TRUE(drop(0));
  while (store().step()) {
  }
  EXPECT_TRUE(make(0));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TreePoolTest, MoreTreesThanFramesAreUsedAgainInTheLeastMemory) {
  open(kLarge);
  make_and_drop_many();
  while (store().step()) {
  }
  const std::size_t before = trees();
  open(0);
  ASSERT_GT(kMany, database_->pool().frame_count());
  for (int number = 0; number < kMany; ++number) {
    ASSERT_TRUE(make(number));
  }
  EXPECT_EQ(trees(), before);
  EXPECT_TRUE(sound(*database_));
}

// Trees without rows, since only their number matters.
TEST_F(TreePoolTest, TooLittleMemoryForWhatIsThereIsSaidAtOnce) {
  open(0);
  const std::uint64_t most = database_->pool().roots().most();
  btree::BTree& catalog = database_->catalog().tree(txn::kCatalogTree);
  for (std::uint64_t number = 0; number < most; number += 50) {
    const auto writer = begin();
    for (std::uint64_t i = number; i < number + 50; ++i) {
      const std::array<std::uint64_t, 2> record{100 + i, 1000 + i};  // id, root
      ASSERT_FALSE(writer
                       ->insert(catalog, fmt::format("other {}", i),
                                {reinterpret_cast<const char*>(record.data()), sizeof record})
                       .conflict);
    }
    writer->commit();
    database_->checkpointer().run();
  }
  database_->close();
  EXPECT_EQ(error_of([&] { return open(0), 0; }, "open the database with 2 times as much"),
            ErrorCode::out_of_memory);
  open(kLarge);
  EXPECT_EQ(trees(), (most + 49) / 50 * 50);
}

// The leaves behind the damaged page stay in use; no transaction waits for them.
TEST_F(TreePoolTest, ATreeThatIsDamagedIsNotTriedForEver) {
  open(kLarge);
  ASSERT_TRUE(make(0));
  const PageId root = only_table()->rows->root_page();
  const TreeId tree = only_table()->rows->id();
  database_->close();
  damage(root);
  open(kLarge);
  ASSERT_TRUE(drop(0));
  EXPECT_EQ(store().waiting(), 1U);
  EXPECT_EQ(error_of([&] { return store().step(); }), ErrorCode::corruption);
  EXPECT_EQ(store().waiting(), 1U);
  store().start();
  EXPECT_TRUE(eventually([&] { return store().waiting() == 0; }));
  store().stop();
  const auto reports = recorder_.of("tables", "is set aside");
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports.front().level, LogLevel::warning);
  EXPECT_EQ(reports.front().number("tree"), raw(tree));
  EXPECT_NE(reports.front().field("cause").find(fmt::format("page {} ", raw(root))),
            std::string::npos)
      << reports.front().text;
  EXPECT_FALSE(store().is_given_out(tree)) << "no bulk waits for it any more";
  const std::size_t before = trees();
  EXPECT_TRUE(make(0));
  EXPECT_EQ(trees(), before + 1);
  database_->close();
  open(kLarge);  // it stays closed
  EXPECT_EQ(recorder_.count("tables", "is set aside"), 2U) << "once more at each opening";
  EXPECT_EQ(store().waiting(), 0U);
  EXPECT_FALSE(store().is_given_out(tree));
}

TEST_F(TreePoolTest, ATreeThatAWriterHoldsDoesNotKeepOtherTreesWaiting) {
  open(kLarge);
  TreePool store(database_->catalog(), database_->transactions());
  store.open({});
  const auto taker = database_->transactions().begin();  // without a snapshot
  btree::BTree* const held = &store.take(*taker);
  btree::BTree* const other = &store.take(*taker);
  const auto writer = begin();
  ASSERT_FALSE(writer->insert(*held, "key", "value").conflict);
  store.give_back(std::vector{held, other});
  EXPECT_FALSE(store.step()) << "held";
  EXPECT_TRUE(store.step()) << "the other one is vacant";
  EXPECT_EQ(store.waiting(), 1U);
  EXPECT_FALSE(store.step());
  writer->rollback();
  while (store.step()) {
  }
  EXPECT_EQ(store.waiting(), 0U);
}

// It belongs to no table any more, so the snapshot cannot reach it.
TEST_F(TreePoolTest, AnOldSnapshotHoldsNothing) {
  open(kLarge);
  TreePool store(database_->catalog(), database_->transactions());
  store.open({});
  const auto taker = database_->transactions().begin();  // without a snapshot
  btree::BTree* const tree = &store.take(*taker);
  const auto change = [&](const auto& work) {
    const auto writer = begin();
    EXPECT_FALSE(work(*writer).conflict);
    writer->commit();
  };
  change([&](txn::Transaction& by) { return by.insert(*tree, "erased", "value"); });
  change([&](txn::Transaction& by) { return by.insert(*tree, "changed", "value"); });
  const auto reader = begin();
  change([&](txn::Transaction& by) { return by.insert(*tree, "inserted", "value"); });
  change([&](txn::Transaction& by) { return by.update(*tree, "changed", "other"); });
  change([&](txn::Transaction& by) { return by.remove(*tree, "erased"); });
  store.give_back(std::array{tree});
  while (store.step()) {
  }
  EXPECT_EQ(store.waiting(), 0U);
  EXPECT_EQ(&store.take(*taker), tree);
}

}  // namespace
}  // namespace palimpsest::engine::test
