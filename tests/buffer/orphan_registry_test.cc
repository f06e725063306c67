// Attachments of pages that leave and come back: none is lost, found twice or retained too long.
#include "buffer/orphan_registry.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
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
  bool stays = false;  ///< with its page, in memory
};

/// Retains what is needed, and counts what exists.
class Things final : public PageAttachment {
 public:
  [[nodiscard]] bool prepare_detach(Hanging& hanging) noexcept override {
    return !static_cast<Thing*>(hanging.what)->stays;
  }
  [[nodiscard]] Attached* detach(Attached& attached) noexcept override { return keep(attached); }
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

 private:
  Attached* keep(Attached& attached) noexcept {
    if (static_cast<Thing&>(attached).needed) {
      return &attached;
    }
    destroy(attached);
    return nullptr;
  }

  std::atomic<std::int64_t> count_{0};
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

// Each thread's pages leave and come back while other threads prune: needed attachments are always
// found.
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
        leave(registry, frame, away[at]);
      } else if (random.one_in(3)) {
        away[at]->needed = false;  // from here on it may be gone
        if (Attached* back = registry.page_returns(page)) {
          ADD_FAILURE() << "page " << raw(page)
                        << " came back with entries that no transaction needs";
          things.destroy(*back);
        }
        away[at] = nullptr;
      } else {
        Attached* back = registry.page_returns(page);
        ASSERT_EQ(back, away[at]);
        leave(registry, frame, away[at]);
      }
      if (random.one_in(8)) {
        registry.prune_some();
      }
    }
    for (std::size_t at = 0; at < away.size(); ++at) {
      if (away[at] != nullptr) {
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
