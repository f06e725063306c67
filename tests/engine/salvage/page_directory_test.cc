// What the pages of a file are said to be, where the space map and redo tell more than the pages.
#include "engine/salvage/page_directory.h"

#include <gtest/gtest.h>

#include "base/io/open_device.h"
#include "base/io/overlay_device.h"
#include "engine/engine.h"
#include "tests/engine/salvage/salvage_fixture.h"

namespace palimpsest::engine {
namespace {

class PageDirectoryTest : public ::testing::Test {
 protected:
  PageDirectoryTest() {
    {
      Engine database(palimpsest::Database::open(path(), test::small_options()));
      test::make_everything(database);
      database.close();
    }
    device_ = std::make_unique<io::OverlayDevice>(
        io::open_device(path(), {.log = {}}),
        std::make_shared<io::OverlayMemory>(std::uint64_t{16} << 20U));
    file_ = buffer::PageFile::open(*device_, buffer::kPageFileName);
    uses_.emplace(*file_);
  }

  using Engine = palimpsest::Database;
  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] std::vector<PageId> leaves_of(PageDirectory& pages) const {
    std::vector<PageId> leaves;
    pages.scan([&](const btree::LeafView& leaf) { leaves.push_back(leaf.page_id()); },
               [](std::uint64_t) {});
    return leaves;
  }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<buffer::PageFile> file_;
  std::optional<PageUses> uses_;
  LostPages lost_;
};

TEST_F(PageDirectoryTest, AllOfASoundFile) {
  PageDirectory pages(*file_, *uses_, lost_, true);
  const std::vector<PageId> leaves = leaves_of(pages);
  EXPECT_GT(leaves.size(), 50U);
  for (const PageId leaf : leaves) {
    EXPECT_EQ(pages.at(leaf).content, PageContent::leaf);
    EXPECT_TRUE(pages.counts(leaf, false));
  }
  EXPECT_EQ(pages.damaged(), 0U);
  EXPECT_EQ(pages.doubtful(), 0U);
}

// Sound as it lies there, and older than what the log says.
TEST_F(PageDirectoryTest, APageThatCouldNotBeRedoneIsDamaged) {
  PageDirectory sound(*file_, *uses_, lost_, true);
  const std::vector<PageId> leaves = leaves_of(sound);
  const PageId leaf = leaves.front();
  lost_.lose(leaf);
  PageDirectory pages(*file_, *uses_, lost_, true);
  EXPECT_EQ(leaves_of(pages).size() + 1, leaves.size());
  EXPECT_EQ(pages.at(leaf).content, PageContent::damaged);
  EXPECT_EQ(pages.damaged(), 1U);
}

// What the log says of a page counts more than the space map.
TEST_F(PageDirectoryTest, WhatTheLogHasFreedIsNotLookedAt) {
  PageDirectory sound(*file_, *uses_, lost_, true);
  const PageId leaf = leaves_of(sound).front();
  uses_->say({.begin = leaf, .end = PageId{raw(leaf) + 1}, .gsn = Gsn{1}, .in_use = false});
  PageDirectory pages(*file_, *uses_, lost_, true);
  static_cast<void>(leaves_of(pages));
  EXPECT_EQ(pages.at(leaf).content, PageContent::none);
  EXPECT_EQ(pages.damaged(), 0U);
}

}  // namespace
}  // namespace palimpsest::engine
