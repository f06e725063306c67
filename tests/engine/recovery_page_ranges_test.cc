// Ranges of pages against a model that remembers each page.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"
#include "engine/recovery/page_ranges.h"
#include "tests/support/seed.h"

namespace palimpsest::engine {
namespace {

struct Noted {
  Gsn gsn{};
  bool in_use = false;

  friend bool operator==(const Noted&, const Noted&) = default;
};
using Model = std::map<std::uint64_t, Noted>;

Model pages_of(const PageRanges& ranges) {
  Model pages;
  std::uint64_t last_end = 0;
  ranges.visit([&](const PageRange& range) {
    EXPECT_LE(last_end, raw(range.begin));
    EXPECT_LT(range.begin, range.end);
    last_end = raw(range.end);
    for (std::uint64_t page = raw(range.begin); page < raw(range.end); ++page) {
      pages[page] = {range.gsn, range.in_use};
    }
  });
  return pages;
}

TEST(PageRanges, KeepTheNewestNoteOfEachPage) {
  Random random(test::seed());
  for (int round = 0; round < 50; ++round) {
    PageRanges ranges;
    Model model;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t first = 1 + random.below(150);
      const auto pages = static_cast<std::uint32_t>(1 + random.below(random.one_in(4) ? 60 : 3));
      const Noted noted{Gsn{1 + random.below(1000) * 1000 + static_cast<std::uint64_t>(i)},
                        random.one_in(2)};
      ranges.note({PageId{first}, pages}, noted.gsn, noted.in_use);
      for (std::uint64_t page = first; page < first + pages; ++page) {
        if (model[page].gsn < noted.gsn) {
          model[page] = noted;
        }
      }
    }
    ASSERT_EQ(pages_of(ranges), model);
    for (std::uint64_t page = 0; page < 220; ++page) {
      const auto known = model.find(page);
      EXPECT_EQ(ranges.gsn_of(PageId{page}), known == model.end() ? Gsn{0} : known->second.gsn);
    }
    const PageRange asked{PageId{20}, PageId{180}, Gsn{500'000}, true};
    std::vector<std::uint64_t> shown;
    ranges.visit_not_newer(asked, [&](const PageRange& part) {
      for (std::uint64_t page = raw(part.begin); page < raw(part.end); ++page) {
        shown.push_back(page);
      }
    });
    std::vector<std::uint64_t> expected;
    for (std::uint64_t page = raw(asked.begin); page < raw(asked.end); ++page) {
      if (ranges.gsn_of(PageId{page}) <= asked.gsn) {
        expected.push_back(page);
      }
    }
    EXPECT_EQ(shown, expected);
  }
}

TEST(PageRanges, MemoryFollowsPagesAndNotNotes) {
  PageRanges ranges;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    ranges.note({PageId{1 + i % 10}, 3}, Gsn{i}, i % 2 == 0);
  }
  EXPECT_LE(ranges.range_count(), 12U);
}

}  // namespace
}  // namespace palimpsest::engine
