// A writer's memory of leaves is used only for trees where it has been right lately.
#include "btree/leaf_memory.h"

#include <gtest/gtest.h>

namespace palimpsest::btree {
namespace {

/// An operation that finds another leaf than the remembered one.
bool misses(LeafMemory& memory, TreeId tree) {
  LastLeaf* const leaf = memory.of(tree);
  if (leaf != nullptr) {
    leaf->remember(FrameIndex{1}, 1, "a", "b");
  }
  return leaf != nullptr;
}

void hits(LeafMemory& memory, TreeId tree) {
  LastLeaf* const leaf = memory.of(tree);
  ASSERT_NE(leaf, nullptr);
  leaf->count_hit();
  leaf->remember(FrameIndex{1}, 1, "a", "b");
}

bool covers(LeafMemory& memory, TreeId tree) {
  const LastLeaf* const leaf = memory.of(tree);
  return leaf != nullptr && leaf->covers("a1");
}

TEST(LeafMemory, IsAskedAlwaysWhereItIsRight) {
  LeafMemory memory;
  for (int i = 0; i < 1000; ++i) {
    hits(memory, TreeId{7});
  }
}

TEST(LeafMemory, IsAskedSeldomWhereItIsWrong) {
  LeafMemory memory;
  int asked = 0;
  for (int i = 0; i < 3200; ++i) {
    asked += misses(memory, TreeId{7}) ? 1 : 0;
  }
  EXPECT_GE(asked, 190);
  EXPECT_LE(asked, 210);
}

TEST(LeafMemory, IsAskedTwiceRunningSoThatItCanBeRightAgain) {
  LeafMemory memory;
  int operations = 0;
  while (misses(memory, TreeId{7})) {
    ++operations;
  }
  for (; memory.of(TreeId{7}) == nullptr; ++operations) {
    ASSERT_LT(operations, 100);
  }
  hits(memory, TreeId{7});
  hits(memory, TreeId{7});
}

TEST(LeafMemory, AnotherTreeInThePlaceOfOneKnowsNothingOfItsLeaf) {
  LeafMemory memory;
  hits(memory, TreeId{7});
  EXPECT_TRUE(covers(memory, TreeId{7}));
  EXPECT_FALSE(covers(memory, TreeId{7 + 16}));
  EXPECT_FALSE(covers(memory, TreeId{7})) << "it was given up for the other";
  hits(memory, TreeId{8});
  EXPECT_TRUE(covers(memory, TreeId{8})) << "that one has a place of its own";
}

}  // namespace
}  // namespace palimpsest::btree
