// The read sets of serializable transactions: within their memory budget, never too small, and
// freed when the transactions end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using txn::TransactionPtr;

constexpr int kRecords = 3000;

class SerializableReads : public ::testing::Test {
 protected:
  SerializableReads() {
    static_cast<void>(database_->make_tree("records"));
    static_cast<void>(database_->make_tree("own"));
    for (int number = 0; number < kRecords;) {
      const auto transaction = database_->begin();
      for (int end = number + 500; number < end; ++number) {  // the versions of more do not fit
        EXPECT_FALSE(transaction->insert(records(), key_of(number), "value").existed);
      }
      transaction->commit();
    }
  }
  [[nodiscard]] static EngineOptions options() {
    EngineOptions options = small_options();
    options.read_bytes_max = std::uint64_t{256} << 10U;
    return options;
  }
  [[nodiscard]] static std::string key_of(int number) { return fmt::format("{:07}", number); }
  [[nodiscard]] btree::BTree& records() { return *database_->find_tree("records"); }
  [[nodiscard]] versioning::ReadMemory& memory() { return database_->transactions().read_memory(); }
  [[nodiscard]] TransactionPtr begin() {
    return database_->begin(txn::Durability::asynchronous, txn::Isolation::serializable);
  }
  void read(const TransactionPtr& in, int number) {
    std::string value;
    static_cast<void>(txn::lookup(*in, records(), key_of(number), value));
  }
  /// Changes the row in another transaction and commits it.
  void change(int number) {
    const auto other =
        database_->begin(txn::Durability::asynchronous, txn::Isolation::read_committed);
    static_cast<void>(other->upsert(records(), key_of(number), "changed"));
    other->commit();
  }
  /// Whether the commit is refused because something that the transaction read has changed.
  [[nodiscard]] bool is_refused(const TransactionPtr& transaction) {
    static_cast<void>(
        transaction->upsert(*database_->find_tree("own"), fmt::format("{}", ++own_), "done"));
    const auto code = error_of([&] { transaction->commit(); });
    EXPECT_EQ(code.value_or(ErrorCode::not_serializable), ErrorCode::not_serializable);
    return code.has_value();
  }

  palimpsest::test::SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<Engine> database_ = Engine::open(*device_, *device_, options());
  int own_ = 0;
};

TEST_F(SerializableReads, WithinBoundsHoweverMuchIsRead) {
  std::vector<TransactionPtr> readers;
  for (int reader = 0; reader < 8; ++reader) {
    readers.push_back(begin());
    for (int i = 0; i < palimpsest::test::repeats(100'000); ++i) {
      read(readers.back(), 7 * i);
    }
    EXPECT_LE(memory().bytes_in_use(),
              memory().bytes_max() + readers.size() * versioning::ReadSet::kGrantedBytes);
  }
  EXPECT_GT(memory().bytes_in_use(), 0U);
  change(7 * 1000);
  for (const TransactionPtr& reader : readers) {
    EXPECT_TRUE(is_refused(reader)) << "it has read what has changed";
  }
  readers.clear();
  EXPECT_LE(memory().bytes_in_use(), memory().bytes_max() / 2) << "a little is kept for the next";
}

TEST_F(SerializableReads, ALargeSetIsGivenBackWhenItsTransactionEnds) {
  for (const bool commits : {true, false}) {
    const auto reader = begin();
    const std::uint64_t before = memory().bytes_in_use();
    for (int i = 0; i < 2000; ++i) {
      read(reader, i);
    }
    EXPECT_GT(memory().bytes_in_use(), before + 8000);
    if (commits) {
      reader->commit();
    } else {
      reader->rollback();
    }
    EXPECT_LE(memory().bytes_in_use(), before + 4096);
  }
}

// Reads single keys and runs of them; then one of them changes, or one far from all.
TEST_F(SerializableReads, NoConflictIsMissedHoweverCoarseTheyAre) {
  const std::uint64_t seed = palimpsest::test::seed();
  Random random(seed);
  for (palimpsest::test::Rounds rounds(20, 2); rounds.next();) {
    const auto reader = begin();
    std::vector<int> keys;
    const std::uint64_t runs = 1 + random.below(30);
    for (std::uint64_t run = 0; run < runs; ++run) {
      const int from = static_cast<int>(random.below(1'000'000));
      const int step = 1 + static_cast<int>(random.below(50));
      for (std::uint64_t i = random.below(400); i > 0; --i) {
        keys.push_back(from + step * static_cast<int>(i));
        read(reader, keys.back());
      }
    }
    const bool changes_read = !keys.empty() && random.one_in(2);
    change(changes_read ? keys[random.below(keys.size())] : 5'000'000);
    const bool refused = is_refused(reader);
    EXPECT_TRUE(refused || !changes_read) << "seed " << seed;
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
