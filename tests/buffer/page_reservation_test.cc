// Frames reserved for splits: never so many that the threads with a reservation cannot load pages.
#include "buffer/page_reservation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "palimpsest/error.h"

#include "tests/buffer/interleaving_support.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

class PageReservationTest : public palimpsest::test::InterleavingTest {
 protected:
  static constexpr std::uint32_t kReservedMax = kOptions.frames / 8;
};

// More threads than frames want to reserve one and keep it. While the reservations that were
// granted last, everything can still be read; when they are released, the waiting threads go on.
TEST_F(PageReservationTest, AllTogetherLeaveFramesForOtherUses) {
  std::atomic<std::uint32_t> kept = 0;
  std::atomic<std::uint32_t> kept_most = 0;
  std::atomic<bool> all_read = false;
  palimpsest::test::run_threads(kOptions.frames + 20, [&](std::size_t thread) {
    if (thread != 0) {
      const PageReservation reservation = database_->pool().reserve(1);
      const std::uint32_t now = kept.fetch_add(1) + 1;
      std::uint32_t most = kept_most.load();
      while (most < now && !kept_most.compare_exchange_weak(most, now)) {
      }
      all_read.wait(false);
      kept.fetch_sub(1);
      return;
    }
    while (kept < kReservedMax) {
      std::this_thread::yield();
    }
    try {
      for (std::uint64_t i = 0; i < kRecords; ++i) {
        EXPECT_EQ(value_of(i), old_value(i));
      }
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    EXPECT_EQ(kept, kReservedMax);
    all_read = true;
    all_read.notify_all();
  });
  EXPECT_EQ(kept_most, kReservedMax);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A reservation above the common limit is granted when there is no other.
TEST_F(PageReservationTest, OneMayBeLarger) {
  {
    const PageReservation large = database_->pool().reserve(2 * kReservedMax);
    EXPECT_EQ(large.count(), 2 * kReservedMax);
  }
  const PageReservation next = database_->pool().reserve(kReservedMax);
  EXPECT_EQ(next.count(), kReservedMax);
}

}  // namespace
}  // namespace palimpsest::buffer
