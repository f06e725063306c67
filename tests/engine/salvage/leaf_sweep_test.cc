// Which leaf decides what, and what none tells of.
#include "engine/salvage/leaf_sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

LeafRef leaf(std::uint64_t page, std::uint64_t gsn, std::string lower,
             std::optional<std::string> upper) {
  return {
      .page = PageId{page}, .gsn = Gsn{gsn}, .lower = std::move(lower), .upper = std::move(upper)};
}

class Given final : public LeafSource {
 public:
  explicit Given(std::vector<LeafRef> leaves) : leaves_(std::move(leaves)) {
    std::ranges::sort(leaves_, {}, &LeafRef::lower);
  }
  std::optional<LeafRef> next() override {
    return at_ == leaves_.size() ? std::nullopt : std::optional(leaves_[at_++]);
  }

 private:
  std::vector<LeafRef> leaves_;
  std::size_t at_ = 0;
};

/// "1[..c) -[c..f) 2[f..]": by page, and gaps.
class Told final : public LeafSink {
 public:
  void take(const LeafRef& leaf, const KeyPart& part) override {
    tell(fmt::format("{}", raw(leaf.page)), part);
  }
  void miss(const KeyPart& part) override { tell("-", part); }

  std::string text;

 private:
  void tell(const std::string& name, const KeyPart& part) {
    text += fmt::format("{}{}[{}..{}", text.empty() ? "" : " ", name, part.from,
                        part.to ? std::string(*part.to) + ")" : "]");
  }
};

std::string swept(std::vector<LeafRef> leaves) {
  Given source(std::move(leaves));
  Told told;
  sweep(source, told);
  return told.text;
}

TEST(LeafSweep, OfOneAge) {
  EXPECT_EQ(swept({leaf(1, 5, "", std::nullopt)}), "1[..]");
  EXPECT_EQ(swept({leaf(2, 5, "c", std::nullopt), leaf(1, 9, "", "c")}), "1[..c) 2[c..]");
}

TEST(LeafSweep, Gaps) {
  EXPECT_EQ(swept({}), "-[..]");
  EXPECT_EQ(swept({leaf(1, 5, "b", "c")}), "-[..b) 1[b..c) -[c..]");
  EXPECT_EQ(swept({leaf(1, 5, "", "c"), leaf(2, 5, "f", std::nullopt)}), "1[..c) -[c..f) 2[f..]");
}

TEST(LeafSweep, TheYoungerDecides) {
  // Split: the left half is old, the right one was written.
  EXPECT_EQ(swept({leaf(1, 5, "", std::nullopt), leaf(2, 8, "m", std::nullopt)}), "1[..m) 2[m..]");
  // Merged: the one that was freed is of the past.
  EXPECT_EQ(swept({leaf(1, 8, "", std::nullopt), leaf(2, 5, "m", std::nullopt)}), "1[..]");
  EXPECT_EQ(swept({leaf(1, 5, "", "z"), leaf(2, 8, "f", "m")}), "1[..f) 2[f..m) 1[m..z) -[z..]");
  EXPECT_EQ(swept({leaf(1, 5, "", "k"), leaf(2, 3, "c", std::nullopt), leaf(3, 9, "e", "g")}),
            "1[..e) 3[e..g) 1[g..k) 2[k..]");
}

// Each key is decided by the youngest leaf that covers it.
TEST(LeafSweep, AtRandom) {
  Random random(test::seed());
  for (test::Rounds rounds(200); rounds.next();) {
    std::vector<LeafRef> leaves;
    for (std::uint64_t page = 1; page <= 1 + random.below(8); ++page) {
      const auto lower = static_cast<char>('a' + random.below(20));
      const auto upper = static_cast<char>(lower + 1 + static_cast<char>(random.below(6)));
      leaves.push_back(leaf(page, 100 + (page * 7 + random.below(1000)) * 10 + page,
                            std::string(1, lower), std::string(1, upper)));
    }
    std::string expected;
    for (char key = 'a'; key <= 'z'; ++key) {
      const LeafRef* owner = nullptr;
      for (const LeafRef& one : leaves) {
        const bool covers = one.lower[0] <= key && key < (*one.upper)[0];
        owner = covers && (owner == nullptr || one.gsn > owner->gsn) ? &one : owner;
      }
      expected += owner == nullptr ? '-' : static_cast<char>('0' + raw(owner->page));
    }
    struct Owners final : LeafSink {
      void take(const LeafRef& leaf, const KeyPart& part) override {
        put(part, static_cast<char>('0' + raw(leaf.page)));
      }
      void miss(const KeyPart& part) override { put(part, '-'); }
      void put(const KeyPart& part, char name) {
        for (char key = 'a'; key <= 'z'; ++key) {
          if (part.from <= std::string_view(&key, 1) &&
              (!part.to || std::string_view(&key, 1) < *part.to)) {
            text[static_cast<std::size_t>(key - 'a')] += name;
          }
        }
      }
      std::vector<std::string> text = std::vector<std::string>(26);
    } owners;
    Given source(leaves);
    sweep(source, owners);
    std::string found;
    for (const std::string& name : owners.text) {
      found += name;
    }
    ASSERT_EQ(found, expected);
  }
}

TEST(LeafRef, Encoded) {
  for (const LeafRef& one :
       {leaf(7, 9, "ab", "cd"), leaf(1, 0, "", std::nullopt), leaf(3, 1, "x", "")}) {
    const LeafRef again = LeafRef::decode(one.lower, one.encode());
    EXPECT_EQ(std::tie(again.page, again.gsn, again.lower, again.upper),
              std::tie(one.page, one.gsn, one.lower, one.upper));
  }
}

}  // namespace
}  // namespace palimpsest::engine
