#include "versioning/ghost_hints.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "versioning/entry_memory.h"

namespace palimpsest::versioning {
namespace {

class GhostHintsTest : public testing::Test {
 protected:
  void note(TreeId tree, const std::string& key, bool keeps_pages = false) {
    const EntryPtr entry = Entry::make(memory_, key.size());
    entry->rename(tree, key, Entry::hash_of(key));
    hints_.note(*entry, keeps_pages);
  }
  void note_many(TreeId tree, int count) {
    for (int i = 0; i < count; ++i) {
      note(tree, std::to_string(i));
    }
  }
  /// All hints of this tree, taken as long as may_have() says that there are more.
  [[nodiscard]] std::set<std::string> take_all(TreeId tree, int asked_max) {
    std::set<std::string> taken;
    for (int asked = 0; asked < asked_max && hints_.may_have(tree); ++asked) {
      if (const auto key = hints_.take(tree)) {
        EXPECT_TRUE(taken.insert(*key).second) << *key;
      }
    }
    return taken;
  }

  EntryMemory memory_;
  GhostHints hints_;
};

TEST_F(GhostHintsTest, SomeRemovalsAreNotedAndTakenOnce) {
  note_many(TreeId{3}, 800);
  EXPECT_FALSE(hints_.may_have(TreeId{4}));
  const auto taken = take_all(TreeId{3}, 800);
  EXPECT_GT(taken.size(), 50U);
  EXPECT_LT(taken.size(), 200U);
  EXPECT_FALSE(hints_.may_have(TreeId{3}));
}

// Trees 3 and 19 share a slot: each gets its own keys only, and all of them.
TEST_F(GhostHintsTest, TreesThatShareAPlaceGetTheirOwn) {
  note_many(TreeId{3}, 400);
  for (int i = 1000; i < 1400; ++i) {
    note(TreeId{19}, std::to_string(i));
  }
  const auto of_other = take_all(TreeId{19}, 100'000);
  const auto of_first = take_all(TreeId{3}, 100'000);
  EXPECT_GT(of_first.size(), 20U);
  EXPECT_GT(of_other.size(), 20U);
  EXPECT_FALSE(hints_.may_have(TreeId{3}));
  for (const std::string& key : of_first) {
    EXPECT_LT(std::stoi(key), 400);
  }
  for (const std::string& key : of_other) {
    EXPECT_GE(std::stoi(key), 1000);
  }
}

TEST_F(GhostHintsTest, BeyondABoundNothingIsNoted) {
  note_many(TreeId{3}, 20'000);
  EXPECT_EQ(take_all(TreeId{3}, 20'000).size(), 512U);
}

// Trees that share a slot hide no hint of each other, and no hint comes before its date.
TEST(FoldedGhostHints, CanBeTakenFromTheirDateOn) {
  constexpr TreeId kOne{1};
  constexpr TreeId kOther{17};
  FoldedGhostHints hints;
  hints.note(kOne, "one", Gsn{10});
  hints.note(kOther, "other", Gsn{12});
  hints.note(kOther, "later", Gsn{20});
  EXPECT_EQ(hints.take(kOne, Gsn{9}), std::nullopt);
  EXPECT_EQ(hints.take(kOther, Gsn{9}), std::nullopt);
  EXPECT_EQ(hints.take(kOther, Gsn{12}), "other");
  EXPECT_EQ(hints.take(kOther, Gsn{12}), std::nullopt);
  EXPECT_EQ(hints.take(kOne, Gsn{12}), "one");
  EXPECT_EQ(hints.take(kOne, Gsn{20}), std::nullopt);
  EXPECT_EQ(hints.take(kOther, Gsn{20}), "later");
  EXPECT_EQ(hints.take(kOther, Gsn{30}), std::nullopt);
}

}  // namespace
}  // namespace palimpsest::versioning
