// The hybrid latch with more threads than cores: torn reads, exclusion, starvation, lost wake-ups.
//
// The page is plain memory, copied by memcpy while a writer may change it, as the engine does it.
// Under ThreadSanitizer optimistic readers take the shared mode, as the engine's guards do.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/hybrid_latch.h"
#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

#ifdef PALIMPSEST_TSAN
constexpr bool kOptimisticTakesShared = true;
constexpr std::uint64_t kScale = 20;  // divides the work, because everything is slower
#else
constexpr bool kOptimisticTakesShared = false;
constexpr std::uint64_t kScale = 1;
#endif

using Words = std::array<std::uint64_t, 16>;

/// A page whose words are all equal whenever no writer is in it.
struct Page {
  HybridLatch latch;
  Words words{};
};

/// Reads as a guard does: true if the copy in `into` is valid. With `dawdle` a writer gets time to
/// change the page between the halves of the copy.
bool read_page(Page& page, Words& into, std::uint64_t& version, bool dawdle = false) {
  if constexpr (kOptimisticTakesShared) {
    page.latch.lock_shared();
    version = page.latch.optimistic();
    into = page.words;
    page.latch.unlock_shared();
    return true;
  } else {
    version = page.latch.optimistic();
    constexpr std::size_t kHalf = sizeof(Words) / 2;
    std::memcpy(into.data(), page.words.data(), kHalf);
    if (dawdle) {
      std::this_thread::yield();
    }
    std::memcpy(into.data() + into.size() / 2, page.words.data() + into.size() / 2, kHalf);
    return page.latch.validate(version);
  }
}

/// Called by the exclusive holder: increments all words, and yields in between now and then.
void change_page(Page& page, Random& random) {
  const std::size_t pause_at = random.below(page.words.size() * 16);
  for (std::size_t i = 0; i < page.words.size(); ++i) {
    ++page.words[i];
    if (i == pause_at) {
      std::this_thread::yield();
    }
  }
}

bool torn(const Words& words) {
  for (const auto word : words) {
    if (word != words[0]) {
      return true;
    }
  }
  return false;
}

TEST(HybridLatchStress, NoValidatedReadIsTorn) {
  constexpr std::size_t kReaders = 4;
  constexpr std::size_t kWriters = 3;
  constexpr std::uint64_t kReadsPerReader = 600'000 / kScale;
  const auto seed = test::seed();
  Page page;
  std::atomic<std::size_t> readers_left{kReaders};
  std::atomic<std::uint64_t> torn_count{0};
  std::atomic<std::uint64_t> backward_count{0};
  std::atomic<std::uint64_t> refused_count{0};
  const auto met_often = [&] {  // often enough for the test to mean something
    return kOptimisticTakesShared || refused_count.load() + torn_count.load() >= 10'000;
  };
  test::run_threads(kReaders + kWriters, [&](std::size_t thread) {
    Random random(seed + thread);
    if (thread < kReaders) {
      Words copy{};
      std::uint64_t version = 0;
      std::uint64_t latest = 0;
      for (std::uint64_t reads = 0; reads < kReadsPerReader || !met_often();) {
        if (!read_page(page, copy, version, random.one_in(64))) {
          refused_count.fetch_add(1, std::memory_order_relaxed);
          continue;
        }
        ++reads;
        torn_count.fetch_add(torn(copy) ? 1 : 0, std::memory_order_relaxed);
        backward_count.fetch_add(copy[0] < latest ? 1 : 0, std::memory_order_relaxed);
        latest = copy[0];
      }
      readers_left.fetch_sub(1);
      return;
    }
    while (readers_left.load() != 0) {
      page.latch.lock_exclusive();
      change_page(page, random);
      page.latch.unlock_exclusive();
      for (std::uint64_t wait = random.below(200); wait > 0; --wait) {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // a delay the compiler keeps
      }
    }
  });
  EXPECT_EQ(torn_count.load(), 0U);
  EXPECT_EQ(backward_count.load(), 0U) << "a read showed an older state than the one before it";
}

// Every way to change the page, all at once; each change is counted once.
TEST(HybridLatchStress, AllModesTogether) {
  constexpr std::size_t kThreads = 16;
  constexpr std::uint64_t kOperations = 4'000 / kScale;
  const auto seed = test::seed();
  Page page;
  std::atomic<std::uint64_t> changes_count{0};
  std::atomic<std::uint64_t> wrong_count{0};
  const auto look = [&] {
    const std::uint64_t first = page.words[0];
    std::this_thread::yield();
    wrong_count.fetch_add(torn(page.words) || page.words[0] != first ? 1 : 0);
  };
  test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(seed + thread);
    Words copy{};
    std::uint64_t version = 0;
    for (std::uint64_t i = 0; i < kOperations; ++i) {
      const auto choice = random.below(8);
      if (choice == 0) {
        page.latch.lock_shared();
        look();
        page.latch.unlock_shared();
      } else if (choice == 1) {
        const bool valid = read_page(page, copy, version);
        std::this_thread::yield();
        if (valid && page.latch.try_shared_at(version)) {
          wrong_count.fetch_add(page.words != copy ? 1 : 0);
          page.latch.unlock_shared();
        }
      } else if (choice <= 3) {
        if (read_page(page, copy, version) && page.latch.try_upgrade(version)) {
          wrong_count.fetch_add(page.words != copy || !page.latch.exclusive_at(version) ? 1 : 0);
          change_page(page, random);
          page.latch.unlock_exclusive();
          changes_count.fetch_add(1);
        }
      } else if (choice == 4) {
        if (page.latch.try_lock_exclusive()) {
          look();
          page.latch.unlock_exclusive_unchanged();
        }
      } else {
        page.latch.lock_exclusive();
        change_page(page, random);
        changes_count.fetch_add(1);
        if (choice == 5) {
          const auto announced = page.latch.version_after_unlock();
          page.latch.unlock_exclusive();
          page.latch.lock_shared();
          look();  // other threads may have changed it since
          wrong_count.fetch_add(page.latch.optimistic() < announced ? 1 : 0);
          page.latch.unlock_shared();
        } else {
          page.latch.unlock_exclusive();
        }
      }
    }
  });
  EXPECT_EQ(wrong_count.load(), 0U);
  EXPECT_EQ(page.words[0], changes_count.load());
  EXPECT_FALSE(torn(page.words));
  EXPECT_FALSE(page.latch.is_held());
}

// Upgrades of all threads from the same version: exactly one of them succeeds.
TEST(HybridLatchStress, UpgradesCountEachChangeOnce) {
  constexpr std::size_t kThreads = 8;
  constexpr std::uint64_t kUpgrades = 20'000 / kScale;
  Page page;
  std::atomic<std::uint64_t> lost_count{0};
  test::run_threads(kThreads, [&](std::size_t) {
    Words copy{};
    std::uint64_t version = 0;
    for (std::uint64_t done = 0; done < kUpgrades;) {
      // Deliberately not validated: the upgrade itself must do that.
      if constexpr (kOptimisticTakesShared) {
        static_cast<void>(read_page(page, copy, version));
      } else {
        version = page.latch.optimistic();
        std::memcpy(copy.data(), page.words.data(), sizeof(Words));
      }
      if ((done & 7) == 0) {
        std::this_thread::yield();
      }
      if (page.latch.try_upgrade(version)) {
        lost_count.fetch_add(page.words != copy ? 1 : 0, std::memory_order_relaxed);
        page.words.fill(copy[0] + 1);
        page.latch.unlock_exclusive();
        ++done;
      }
    }
  });
  EXPECT_EQ(lost_count.load(), 0U);
  EXPECT_EQ(page.words[0], kThreads * kUpgrades);
}

// Holders yield their core, so that nearly all threads park.
TEST(HybridLatchStress, SixtyFourThreadsParkAndWake) {
  constexpr std::size_t kThreads = 64;
  constexpr std::uint64_t kRounds = 200 / kScale;
  Page page;
  std::atomic<std::uint64_t> waited_count{0};
  test::run_threads(kThreads, [&](std::size_t) {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      if (page.latch.lock_exclusive() == Waited::yes) {
        waited_count.fetch_add(1, std::memory_order_relaxed);
      }
      ++page.words[0];
      std::this_thread::yield();
      page.latch.unlock_exclusive();
    }
  });
  EXPECT_EQ(page.words[0], kThreads * kRounds);
  EXPECT_GT(waited_count.load(), 0U);
}

// Few threads, each of which sleeps until another wakes it: one lost wake-up stops them all.
TEST(HybridLatchStress, NoWakeUpIsLost) {
  constexpr std::uint64_t kRounds = 20'000 / kScale;
  const auto hold = [](Random& random) {
    if (random.one_in(4)) {
      std::this_thread::yield();
    }
  };
  const auto seed = test::seed();
  for (const std::size_t threads_count : {2U, 3U, 6U}) {
    HybridLatch latch;
    test::run_threads(threads_count, [&](std::size_t thread) {
      Random random(seed + thread);
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const auto mode = random.below(3);
        if (mode == 0) {
          latch.lock_exclusive();
          hold(random);
          random.one_in(2) ? latch.unlock_exclusive() : latch.unlock_exclusive_unchanged();
        } else if (mode == 1) {
          latch.lock_shared();
          hold(random);
          latch.unlock_shared();
        } else {
          static_cast<void>(latch.optimistic());
        }
      }
    });
  }
}

class HybridLatchStarvation : public ::testing::TestWithParam<bool> {};

// Whether they raise the version or not.
TEST_P(HybridLatchStarvation, WritersDoNotStarveAReader) {
  const bool changes = GetParam();
  constexpr std::size_t kWriters = 8;
  constexpr std::uint64_t kReads = 200 / kScale;
  HybridLatch latch;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> writes{0};
  std::uint64_t waited_for = 0;
  test::run_threads(kWriters + 1, [&](std::size_t thread) {
    if (thread == kWriters) {
      for (std::uint64_t i = 0; i < kReads; ++i) {
        while (!latch.is_exclusive()) {
          std::this_thread::yield();
        }
        const std::uint64_t before = writes;
        latch.lock_shared();
        waited_for += writes - before;
        latch.unlock_shared();
      }
      stop.store(true);
      return;
    }
    while (!stop.load()) {
      latch.lock_exclusive();
      std::this_thread::yield();
      ++writes;
      changes ? latch.unlock_exclusive() : latch.unlock_exclusive_unchanged();
    }
  });
  EXPECT_LT(waited_for / kReads, 500U) << "writes that pass each read";
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutChanges, HybridLatchStarvation, ::testing::Bool());

}  // namespace
}  // namespace palimpsest
