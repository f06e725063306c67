// Attachments of pages that leave and come back: none is lost, found twice or retained too long.
#include "buffer/orphan_registry.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

/// The age of frames outside of any pool.
const std::atomic<PageAge> kNoAge;

struct Thing final : Attached {
  explicit Thing(PageId its_page) : page(its_page) {}

  PageId page;
  std::atomic<bool> needed{true};
  bool stays = false;        ///< with its page, in memory
  bool is_absorbed = false;  ///< when its page leaves
};

/// Retains what is needed, and counts what exists.
class Things final : public PageAttachment {
 public:
  Things() = default;
  ~Things() override {
    for (const auto& [page, thing] : absorbed_) {
      destroy(*thing);
    }
  }

  [[nodiscard]] bool prepare_detach(Hanging& hanging) noexcept override {
    return !static_cast<Thing*>(hanging.what)->stays;
  }
  [[nodiscard]] Attached* detach(Attached& attached, PageId page) noexcept override {
    Attached* const kept = keep(attached);
    if (kept == nullptr || !static_cast<Thing*>(kept)->is_absorbed) {
      return kept;
    }
    const std::scoped_lock lock(mutex_);
    EXPECT_TRUE(absorbed_.emplace(page, static_cast<Thing*>(kept)).second);
    absorbed_count_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  [[nodiscard]] bool has_absorbed() const noexcept override {
    return absorbed_count_.load(std::memory_order_acquire) != 0;
  }
  void restore(PageId page, FunctionRef<void(Attached&)> enter) override {
    const std::scoped_lock lock(mutex_);
    if (const auto found = absorbed_.find(page); found != absorbed_.end()) {
      if (fails_to_restore) {
        throw std::bad_alloc();
      }
      enter(*found->second);
      absorbed_.erase(found);
      absorbed_count_.fetch_sub(1, std::memory_order_release);
    }
  }
  void prune_some_absorbed() noexcept override { ++pruned_some; }
  void prune_all_absorbed(FunctionRef<bool()> is_enough) noexcept override {
    pruned_all += is_enough() ? 0 : 1;
  }
  [[nodiscard]] Attached* attach(Attached& attached) noexcept override { return keep(attached); }
  [[nodiscard]] bool prune(Attached& orphan) noexcept override { return keep(orphan) != nullptr; }
  void prune_all(std::span<Hanging> hanging) noexcept override {
    for (Hanging& one : hanging) {
      one.what = keep(*one.what);
    }
  }
  void destroy(Attached& attached) noexcept override {
    delete &static_cast<Thing&>(attached);
    --count_;
  }

  [[nodiscard]] Thing* make(PageId page) {
    ++count_;
    return new Thing(page);
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

  std::atomic<bool> fails_to_restore{false};
  std::atomic<int> pruned_some{0};
  std::atomic<int> pruned_all{0};

 private:
  Attached* keep(Attached& attached) noexcept {
    if (static_cast<Thing&>(attached).needed) {
      return &attached;
    }
    destroy(attached);
    return nullptr;
  }

  std::atomic<std::int64_t> count_{0};
  std::mutex mutex_;
  std::map<PageId, Thing*> absorbed_;
  std::atomic<std::int64_t> absorbed_count_{0};
};

void leave(OrphanRegistry& registry, Frame& frame, Thing* thing) {
  frame.page_id = thing->page;
  frame.attached = thing;
  EXPECT_TRUE(registry.page_leaves(frame, {}));
  EXPECT_EQ(frame.attached.load(), nullptr);
}

TEST(OrphanRegistry, EachComesBackOnce) {
  constexpr std::uint64_t kPages = 20'000;  // more than the buckets it begins with
  Things things;
  OrphanRegistry registry(&things);
  Frame frame(kNoAge);
  EXPECT_TRUE(registry.page_leaves(frame, {}));  // nothing is attached there
  EXPECT_EQ(registry.page_returns(PageId{1}), nullptr);
  for (std::uint64_t i = 1; i <= kPages; ++i) {
    leave(registry, frame, things.make(PageId{i * 64 / 5}));
  }
  EXPECT_EQ(registry.count(), kPages);
  for (std::uint64_t i = 1; i <= kPages; ++i) {
    const PageId page{i * 64 / 5};
    Attached* back = registry.page_returns(page);
    ASSERT_NE(back, nullptr) << i;
    EXPECT_EQ(static_cast<Thing*>(back)->page, page);
    EXPECT_EQ(registry.page_returns(page), nullptr);
    things.destroy(*back);
  }
  EXPECT_EQ(registry.count(), 0U);
}

// Registration fails for lack of memory: the page keeps its attachment, and is not in the registry.
TEST(OrphanRegistry, APageThatHasToStayKeepsWhatHangsThere) {
  Things things;
  OrphanRegistry registry(&things);
  Frame frame(kNoAge);
  Thing* const thing = things.make(PageId{1});
  thing->stays = true;
  frame.page_id = PageId{1};
  frame.hang(thing);
  EXPECT_FALSE(registry.page_leaves(frame, {}));
  EXPECT_EQ(frame.attached.load(), thing);
  EXPECT_EQ(registry.count(), 0U);
  things.destroy(*thing);
}

TEST(OrphanRegistry, WhatIsNotNeededGoes) {
  Things things;
  OrphanRegistry registry(&things);
  Frame frame(kNoAge);
  Thing* useless = things.make(PageId{5});
  useless->needed = false;
  leave(registry, frame, useless);
  EXPECT_EQ(registry.count(), 0U);
  EXPECT_EQ(things.count(), 0);
  Thing* returning = things.make(PageId{5});
  leave(registry, frame, returning);
  returning->needed = false;
  EXPECT_EQ(registry.page_returns(PageId{5}), nullptr);
  EXPECT_EQ(things.count(), 0);
  EXPECT_EQ(registry.count(), 0U);
}

TEST(OrphanRegistry, PruningReachesEveryOrphan) {
  Things things;
  OrphanRegistry registry(&things);
  Frame frame(kNoAge);
  std::vector<Thing*> all;
  for (std::uint64_t i = 1; i <= 30'000; ++i) {
    all.push_back(things.make(PageId{i}));
    leave(registry, frame, all.back());
  }
  EXPECT_EQ(registry.prune_some(), 0U);
  for (std::size_t i = 0; i < all.size(); i += 2) {
    all[i]->needed = false;
  }
  std::size_t pruned = 0;
  for (int calls = 0; pruned < all.size() / 2; ++calls) {
    ASSERT_LT(calls, 64 * 64) << pruned << " pruned";
    pruned += registry.prune_some();
  }
  EXPECT_EQ(registry.count(), all.size() / 2);
  EXPECT_EQ(things.count(), static_cast<std::int64_t>(all.size() / 2));
  for (std::size_t i = 1; i < all.size(); i += 2) {
    EXPECT_EQ(registry.page_returns(PageId{i + 1}), all[i]);
    things.destroy(*all[i]);
  }
}

TEST(OrphanRegistry, EndDestroysTheOrphans) {
  Things things;
  {
    OrphanRegistry registry(&things);
    Frame frame(kNoAge);
    for (std::uint64_t i = 1; i <= 300; ++i) {
      leave(registry, frame, things.make(PageId{i}));
    }
  }
  EXPECT_EQ(things.count(), 0);
}

// The attachments' owner may keep what is left of many in one object: they are orphans again before
// their pages are read, or the page is not read.
TEST(OrphanRegistry, WhatIsAbsorbedIsAnOrphanBeforeItsPageIsRead) {
  Things things;
  OrphanRegistry registry(&things);
  Frame frame(kNoAge);
  registry.prune_some();
  EXPECT_EQ(things.pruned_some, 0) << "nothing is absorbed";
  Thing* const thing = things.make(PageId{3});
  thing->is_absorbed = true;
  leave(registry, frame, thing);
  EXPECT_EQ(registry.count(), 0U);
  registry.prune_some();
  registry.prune_all([] { return false; });
  EXPECT_EQ(things.pruned_some, 1);
  EXPECT_EQ(things.pruned_all, 1);
  registry.prepare_return(PageId{4});
  EXPECT_EQ(registry.count(), 0U);
  things.fails_to_restore = true;
  EXPECT_THROW(registry.prepare_return(PageId{3}), std::bad_alloc);
  things.fails_to_restore = false;
  registry.prepare_return(PageId{3});
  registry.prepare_return(PageId{3});
  EXPECT_EQ(registry.count(), 1U);
  EXPECT_EQ(registry.page_returns(PageId{3}), thing);
  things.destroy(*thing);
}

// Each thread's pages leave and come back while other threads prune, and prepare the return of any
// page: needed attachments are always found.
TEST(OrphanRegistry, ManyThreads) {
  constexpr std::size_t kThreads = 6;
  const std::uint64_t seed = palimpsest::test::seed();
  Things things;
  OrphanRegistry registry(&things);
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(seed + thread);
    std::array<Thing*, 50> away{};
    Frame frame(kNoAge);
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t at = random.below(away.size());
      const PageId page{1 + at * kThreads + thread};
      if (away[at] == nullptr) {
        away[at] = things.make(page);
        away[at]->is_absorbed = random.one_in(2);
        leave(registry, frame, away[at]);
      } else if (random.one_in(3)) {
        registry.prepare_return(page);
        away[at]->needed = false;  // from here on it may be gone
        if (Attached* back = registry.page_returns(page)) {
          ADD_FAILURE() << "page " << raw(page)
                        << " came back with entries that no transaction needs";
          things.destroy(*back);
        }
        away[at] = nullptr;
      } else {
        registry.prepare_return(page);
        Attached* back = registry.page_returns(page);
        ASSERT_EQ(back, away[at]);
        leave(registry, frame, away[at]);
      }
      if (random.one_in(8)) {
        registry.prune_some();
      }
      registry.prepare_return(PageId{1 + random.below(away.size() * kThreads)});
    }
    for (std::size_t at = 0; at < away.size(); ++at) {
      if (away[at] != nullptr) {
        registry.prepare_return(PageId{1 + at * kThreads + thread});
        ASSERT_EQ(registry.page_returns(PageId{1 + at * kThreads + thread}), away[at]);
        things.destroy(*away[at]);
      }
    }
  });
  EXPECT_EQ(registry.count(), 0U);
  EXPECT_EQ(things.count(), 0);
}

}  // namespace
}  // namespace palimpsest::buffer
