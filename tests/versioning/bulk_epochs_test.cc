// Slots of bulk epochs: their number, when segments are made, and what readers find meanwhile.
#include "versioning/bulk_epochs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/error_of.h"

namespace palimpsest::versioning {
namespace {

using State = BulkEpochs::State;

class BulkEpochsTest : public ::testing::Test {
 protected:
  /// Enters so many, the oldest free epoch first.
  std::vector<BulkEpoch> enter(std::size_t count) {
    std::vector<BulkEpoch> entered;
    for (; entered.size() < count; next_ = BulkEpoch{raw(next_) + 1}) {
      const auto free = epochs_.next_free(next_);
      if (!free) {
        break;
      }
      next_ = *free;
      static_cast<void>(epochs_.begin(next_));
      entered.push_back(next_);
    }
    return entered;
  }

  EntryMemory memory_;
  BulkEpochs epochs_{memory_};
  BulkEpoch next_{1};
};

TEST_F(BulkEpochsTest, TakeMemoryAsManyAsThereAre) {
  EXPECT_EQ(memory_.bytes_in_use(), 0U);
  for (int round = 0; round < 100'000; ++round) {  // one at a time
    epochs_.forget(enter(1).front());
  }
  const std::uint64_t of_one = memory_.bytes_in_use();
  EXPECT_LE(of_one, 8192U);
  const std::vector<BulkEpoch> all = enter(BulkEpochs::kPlacesMax + 1);
  EXPECT_EQ(all.size(), BulkEpochs::kPlacesMax);
  EXPECT_EQ(std::set<BulkEpoch>(all.begin(), all.end()).size(), all.size());
  EXPECT_GT(memory_.bytes_in_use(), 16 * of_one);
  EXPECT_EQ(test::error_of([&] { return &epochs_.begin(next_); }), ErrorCode::too_many_bulks);
  for (const BulkEpoch epoch : all) {
    EXPECT_EQ(epochs_.state(epoch), State::running);
    epochs_.forget(epoch);
    EXPECT_EQ(epochs_.state(epoch), State::retired);
  }
  EXPECT_TRUE(epochs_.is_empty());
  EXPECT_EQ(enter(1).size(), 1U);
}

TEST_F(BulkEpochsTest, ThoseOfBeforeHaveTheirPlacesAnywhere) {
  for (const std::uint64_t epoch : {7UL, 300UL, 16'383UL, 16'384UL, 1'000'000UL}) {
    epochs_.enter_aborted(BulkEpoch{epoch});
    EXPECT_EQ(epochs_.state(BulkEpoch{epoch}), State::aborted);
    EXPECT_EQ(epochs_.state(BulkEpoch{epoch + BulkEpochs::kPlacesMax}), State::retired);
  }
  const std::vector<BulkEpoch> more = enter(1000);
  EXPECT_EQ(more.size(), 1000U);
  EXPECT_EQ(epochs_.count(), 1005U);
}

// Looks up an existing epoch while other epochs come and go, with their segments.
TEST_F(BulkEpochsTest, LookupsAreRightWhileSegmentsAreMade) {
  const BulkEpoch first = enter(1).front();
  std::atomic<std::uint64_t> newest{raw(first)};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    const ReadView read_view{.snapshot = Gsn{1}};
    while (!done.load()) {
      ASSERT_EQ(epochs_.at(first, &read_view), Visibility::invisible);
      const BulkEpoch other{newest.load(std::memory_order_acquire)};
      ASSERT_EQ(epochs_.at(other, &read_view), Visibility::invisible) << raw(other);
      ASSERT_EQ(epochs_.at(BulkEpoch{raw(first) + 7 * BulkEpochs::kPlacesMax}, &read_view),
                Visibility::visible);
    }
  });
  for (int number = 0; number < 4000; ++number) {
    newest.store(raw(enter(1).front()), std::memory_order_release);
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace palimpsest::versioning
