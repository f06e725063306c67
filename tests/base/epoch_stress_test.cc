// Readers follow a pointer that writers replace: nothing is freed while a reader may look at it.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/epoch.h"
#include "base/futex.h"
#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

#ifdef PALIMPSEST_TSAN
constexpr std::uint64_t kScale = 10;
#else
constexpr std::uint64_t kScale = 1;
#endif

/// A node stays allocated, so that a reader that came too late sees it dead instead of crashing.
struct Node {
  std::atomic<bool> alive{true};
  std::uint64_t value =
      0;  // plain: ThreadSanitizer sees the deleter's store race with a late reader
};

void bury(void* object, void*) noexcept {
  auto& node = *static_cast<Node*>(object);
  node.value = ~std::uint64_t{0};
  node.alive.store(false);
}

TEST(EpochStress, NoReaderSeesAFreedNode) {
  constexpr std::size_t kReaders = 5;
  constexpr std::size_t kWriters = 3;
  constexpr std::uint64_t kReplacements = 200'000 / kScale;
  const auto seed = test::seed();
  std::array<std::atomic<Node*>, 4> heads{};
  std::array<std::vector<std::unique_ptr<Node>>, kWriters> nodes;
  Node first;
  EpochManager manager(kReaders + kWriters);  // buries the rest before the nodes go
  for (auto& head : heads) {
    head.store(&first);
  }
  std::atomic<std::size_t> writers_left{kWriters};
  std::atomic<std::uint64_t> dead_count{0};
  std::atomic<std::uint64_t> buried_early_count{0};
  test::run_threads(kReaders + kWriters, [&](std::size_t thread) {
    Random random(seed + thread);
    auto participant = *manager.claim();
    if (thread < kReaders) {
      while (writers_left.load() != 0) {
        const EpochGuard guard(participant);
        const Node* node = heads[random.below(heads.size())].load(std::memory_order_acquire);
        const std::uint64_t value = node->value;
        if (random.one_in(8)) {
          std::this_thread::yield();
        }
        const bool dead = !node->alive.load() || node->value != value;
        dead_count.fetch_add(dead ? 1 : 0, std::memory_order_relaxed);
      }
      return;
    }
    auto& own = nodes[thread - kReaders];
    for (std::uint64_t i = 0; i < kReplacements; ++i) {
      own.push_back(std::make_unique<Node>());
      own.back()->value = i;
      Node* old =
          heads[random.below(heads.size())].exchange(own.back().get(), std::memory_order_acq_rel);
      if (old == &first) {
        continue;  // it stands in several places: not ours to free
      }
      participant.retire(old, Deleter{bury, nullptr});
      if (random.one_in(16)) {
        participant.reclaim();
      }
    }
    buried_early_count.fetch_add(own.size() - participant.pending_count());
    writers_left.fetch_sub(1);
  });
  EXPECT_EQ(dead_count.load(), 0U);
  EXPECT_GT(buried_early_count.load(), 0U) << "nothing was freed while readers ran";
}

// The narrow race of the two fences: a reader enters and loads while a writer unlinks and scans.
// With either fence missing, each may miss what the other has just stored.
TEST(EpochStress, EnteringRacesWithReclaiming) {
  constexpr std::size_t kNodes = 1'000'000 / kScale;
  std::vector<Node> nodes(kNodes);
  EpochManager manager(2);
  std::atomic<Node*> head{nodes.data()};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> dead_count{0};
  test::run_threads(2, [&](std::size_t thread) {
    auto participant = *manager.claim();
    if (thread == 0) {
      while (!stop.load(std::memory_order_relaxed)) {
        const EpochGuard guard(participant);
        const Node* node = head.load(std::memory_order_acquire);
        for (int i = 0; i < 8; ++i) {
          spin_pause();
        }
        dead_count.fetch_add(node->alive.load(std::memory_order_relaxed) ? 0 : 1,
                             std::memory_order_relaxed);
      }
      return;
    }
    for (std::size_t i = 1; i < kNodes; ++i) {
      head.store(&nodes[i], std::memory_order_release);
      participant.retire(&nodes[i - 1], Deleter{bury, nullptr});
      participant.reclaim();
    }
    stop.store(true);
  });
  EXPECT_EQ(dead_count.load(), 0U);
}

// Participants come and go while others retire and take over what was left behind.
TEST(EpochStress, EachObjectIsFreedExactlyOnce) {
  constexpr std::size_t kThreads = 12;
  constexpr std::uint64_t kRounds = 2'000 / kScale;
  const auto seed = test::seed();
  std::atomic<std::uint64_t> freed_count{0};
  std::atomic<std::uint64_t> retired_count{0};
  std::atomic<std::uint64_t> twice_count{0};
  struct Object {
    std::atomic<std::uint64_t>& freed;
    std::atomic<std::uint64_t>& twice;
    std::atomic<int> times{0};
  };
  std::array<std::vector<std::unique_ptr<Object>>, kThreads> objects;
  {
    EpochManager manager(kThreads / 2);  // fewer than threads: some find no place
    test::run_threads(kThreads, [&](std::size_t thread) {
      Random random(seed + thread);
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        auto participant = manager.claim();
        if (!participant) {
          manager.reclaim_abandoned();
          std::this_thread::yield();
          continue;
        }
        for (std::uint64_t n = random.below(40); n > 0; --n) {
          const EpochGuard guard(*participant);
          objects[thread].push_back(std::make_unique<Object>(freed_count, twice_count));
          retired_count.fetch_add(1);
          participant->retire(objects[thread].back().get(),
                              Deleter{[](void* object, void*) noexcept {
                                        auto& self = *static_cast<Object*>(object);
                                        self.freed.fetch_add(1);
                                        self.twice.fetch_add(self.times.fetch_add(1) == 0 ? 0 : 1);
                                      },
                                      nullptr});
        }
      }
    });
  }
  EXPECT_EQ(twice_count.load(), 0U);
  EXPECT_EQ(freed_count.load(), retired_count.load());
  EXPECT_GT(retired_count.load(), 0U);
}

}  // namespace
}  // namespace palimpsest
