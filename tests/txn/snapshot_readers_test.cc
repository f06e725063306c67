// Readers in the hardest situations: rollbacks half done, changes that leave no versions, and slots
// whose last transaction could not be undone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/sync_point.h"
#include "btree/visible_record.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using txn::Durability;
using txn::Isolation;

constexpr int kRecords = 200;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

class SnapshotReaders : public ::testing::Test {
 protected:
  SnapshotReaders() : device_(disk_.device()) {
    EngineOptions options = small_options();
    // large enough that no transaction becomes too old
    options.log_bytes_max = 64 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    tree_ = database_->make_tree("tree");
    const auto transaction = begin();
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_FALSE(transaction->insert(*tree_, key_of(i), std::string(100, 'v')).existed);
    }
    transaction->commit();
  }

  [[nodiscard]] txn::TransactionPtr begin(Isolation isolation = Isolation::snapshot) {
    return database_->begin(Durability::asynchronous, isolation);
  }
  [[nodiscard]] std::string read(const txn::TransactionPtr& by, int number) {
    std::string value;
    return txn::lookup(*by, *tree_, key_of(number), value) ? value : "none";
  }
  [[nodiscard]] bool is_changed(const txn::TransactionPtr& by, int number, ByteView value) {
    const auto outcome = by->upsert(*tree_, key_of(number), value);
    return !outcome.conflict;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_ = nullptr;
};

#ifdef PALIMPSEST_SYNC_POINTS

// The value is short again and the versions are still there; one of them is a patch far beyond its
// end.
TEST_F(SnapshotReaders, SeeTheirStateBetweenTheStepsOfARollback) {
  const auto reader = begin();
  const auto writer = begin();
  std::string longer(400, 'a');
  ASSERT_TRUE(is_changed(writer, 5, longer));
  ASSERT_TRUE(is_changed(writer, 7, longer));
  longer[320] = 'b';
  ASSERT_TRUE(is_changed(writer, 5, longer));
  ASSERT_TRUE(is_changed(writer, 7, longer));
  ASSERT_TRUE(is_changed(writer, 5, "short"));
  ASSERT_FALSE(writer->remove(*tree_, key_of(6)).conflict);
  ASSERT_TRUE(is_changed(writer, 6, longer));
  ASSERT_TRUE(is_changed(writer, kRecords, longer));
  int steps = 0;
  {
    const SyncHook hook("txn.undo.done", [&] {
      ++steps;
      for (const int number : {5, 6, 7}) {
        EXPECT_EQ(read(reader, number), std::string(100, 'v'));
      }
      EXPECT_EQ(read(reader, kRecords), "none");
    });
    writer->rollback();
  }
  EXPECT_EQ(steps, 8);
  EXPECT_EQ(read(reader, 5), std::string(100, 'v'));
}

// The commit is decided, but its versions have no date of their own yet: visibility follows the
// commit status.
TEST_F(SnapshotReaders, SeeNothingOfACommitBetweenItsSteps) {
  const auto reader = begin();
  const auto writer = begin();
  ASSERT_TRUE(is_changed(writer, 5, "short"));
  ASSERT_TRUE(is_changed(writer, kRecords, "new"));
  int steps = 0;
  {
    const SyncHook hook("versioning.commit.dating", [&] {
      ++steps;
      EXPECT_EQ(read(reader, 5), std::string(100, 'v'));
      EXPECT_EQ(read(reader, kRecords), "none");
    });
    writer->commit();
  }
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(read(reader, 5), std::string(100, 'v'));
  EXPECT_EQ(read(begin(), 5), "short");
}

#endif

// A record that a snapshot still sees in its old state cannot be changed without a version; soon it
// can.
TEST_F(SnapshotReaders, ChangesWithoutVersionsWaitForThem) {
  auto reader = begin();
  {
    const auto writer = begin();
    std::string patched(100, 'v');
    patched[99] = 'w';
    ASSERT_TRUE(is_changed(writer, 5, patched));
    writer->commit();
  }
  {
    const auto writer = begin(Isolation::none);
    EXPECT_FALSE(is_changed(writer, 5, "short"));
    EXPECT_TRUE(is_changed(writer, 7, "short")) << "no other transaction has changed it";
    writer->commit();
  }
  EXPECT_EQ(read(reader, 5), std::string(100, 'v'));
  reader.reset();
  const auto writer = begin(Isolation::none);
  EXPECT_TRUE(is_changed(writer, 5, "short"));
  writer->commit();
}

TEST_F(SnapshotReaders, NotSeeWhatCouldNotBeUndone) {
  auto failing = begin();
  const SlotId slot = failing->slot();
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(is_changed(failing, i, std::string(90, 'u')));
  }
  database_->checkpointer().run();
  const auto other = begin(Isolation::none);  // pushes the pages out
  for (int i = 0; i < 3000; ++i) {
    ASSERT_FALSE(
        other->insert(*tree_, fmt::format("other{:06}", i), std::string(200, 'o')).existed);
    if (i % 500 == 0) {
      database_->checkpointer().run();
    }
  }
  other->commit();
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::read), .for_good = true});
  EXPECT_TRUE(error_of([&] { failing->rollback(); }).has_value());
  failing.reset();
  disk_.clear_faults();
  for (int life = 0; life < 4; ++life) {
    const auto reader = begin();
    EXPECT_EQ(reader->slot(), slot);
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_EQ(read(reader, i), std::string(100, 'v')) << "life " << life;
    }
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
