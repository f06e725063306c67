// Trees over a space map that calls used pages free, as in a damaged or hostile file: the operation
// that notices it reports it, nothing aborts, and completed changes stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "btree/btree.h"
#include "buffer/page_header.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;

/// Everything fits the pool: after a failure the file cannot evict dirty pages.
constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 300};
constexpr std::uint64_t kRecords = 1000;

class WrongSpaceMap : public ::testing::Test {
 protected:
  WrongSpaceMap() : device_(disk_.device()), database_(TreeDatabase::create(*device_, kOptions)) {}

  [[nodiscard]] BTree& tree() { return database_->tree(); }
  static std::string key_of(std::uint64_t i) { return test::big_endian(i); }

  /// Marks all pages but the map page itself as free, on disk, and opens the file again.
  void forget_all_pages() {
    database_->close();
    const std::uint64_t place = database_->file().offset_of(database_->file().first_page());
    database_.reset();
    const std::vector<std::byte> file = disk_.contents(TreeDatabase::kFileName);
    std::vector<std::byte> map(file.begin() + static_cast<std::ptrdiff_t>(place),
                               file.begin() + static_cast<std::ptrdiff_t>(place + 4096));
    std::fill(map.begin() + sizeof(buffer::PageHeader), map.end(), std::byte{0});
    map[sizeof(buffer::PageHeader)] = std::byte{1};
    buffer::seal_page(map, 1);
    disk_.overwrite(TreeDatabase::kFileName, place, map);
    database_ = TreeDatabase::open(*device_, kOptions);
  }

  /// The bytes of all pages behind the ring.
  [[nodiscard]] std::vector<std::byte> pages_on_disk() {
    const std::vector<std::byte> file = disk_.contents(TreeDatabase::kFileName);
    const std::uint64_t place = database_->file().offset_of(database_->file().first_page());
    return {file.begin() + static_cast<std::ptrdiff_t>(place), file.end()};
  }

  [[nodiscard]] std::vector<PageId> pages_of(const std::string& key) {
    const auto leaf = tree().descent().leaf<buffer::SharedPage>(Target{key});
    const LeafView view(leaf.page(), kOptions.page_size_bytes);
    const auto value = database_->large_values().decode(view.value(view.find(key).slot));
    std::vector<PageId> pages;
    pages.reserve(value.block_count());
    for (std::uint32_t block = 0; block < value.block_count(); ++block) {
      pages.push_back(value.page_of(block));
    }
    return pages;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

// A merge frees a page that is free already: the file fails. It can be read, not written.
TEST_F(WrongSpaceMap, MergedPageIsFreeAlready) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().insert(key_of(i), std::string(300, 'v')));
  }
  forget_all_pages();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(tree().remove(key_of(i)));
  }
  EXPECT_TRUE(database_->file().failed());
  const std::string name = "page file \"" + database_->file().name() + "\" failed";
  EXPECT_EQ(error_of([&] { database_->pool().flush(); }, name), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { database_->close(); }, name), ErrorCode::failed);
  std::string value;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(tree().lookup(key_of(i), value), i >= 100);
  }
}

// New leaves get the pages of nodes that are in memory: before one of the two images overwrites the
// other, the file fails.
TEST_F(WrongSpaceMap, PagesInUseAreGivenAway) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().insert(key_of(i), std::string(300, 'v')));
  }
  forget_all_pages();
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().update(key_of(i), std::string(300, 'w')));
  }
  const std::vector<std::byte> before = pages_on_disk();
  for (std::uint64_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(tree().insert(key_of(kRecords + i), std::string(300, 'w')));
  }
  EXPECT_EQ(error_of([&] { database_->pool().flush(); }, "has been given to two users"),
            ErrorCode::corruption);
  EXPECT_TRUE(database_->file().failed());
  EXPECT_TRUE(pages_on_disk() == before);
  std::string value;
  for (std::uint64_t i = 0; i < kRecords + 30; ++i) {
    ASSERT_TRUE(tree().lookup(key_of(i), value));
    ASSERT_EQ(value, std::string(300, 'w'));
  }
}

// The pages of a large value are free already: replacing or removing it reports that, and still
// replaces or removes it.
TEST_F(WrongSpaceMap, LargeValueIsFreeAlready) {
  const std::string large(10'000, 'l');
  for (const char* key : {"kept", "removed", "smaller"}) {
    ASSERT_TRUE(tree().insert(key, large));
  }
  forget_all_pages();
  const auto says = [&](const auto& call) { return error_of(call, "names pages that are free"); };
  EXPECT_EQ(says([&] { static_cast<void>(tree().remove("removed")); }), ErrorCode::corruption);
  EXPECT_EQ(says([&] { tree().upsert("smaller", "small"); }), ErrorCode::corruption);
  std::string value;
  EXPECT_FALSE(tree().lookup("removed", value));
  EXPECT_TRUE(tree().lookup("smaller", value));
  EXPECT_EQ(value, "small");
  EXPECT_TRUE(tree().lookup("kept", value));
  EXPECT_EQ(value, large);
}

// Only the old value's pages are in doubt: the new one keeps its own.
TEST_F(WrongSpaceMap, LargeValueIsReplacedByALargeOne) {
  ASSERT_TRUE(tree().insert("key", std::string(10'000, 'o')));
  database_->space().free(pages_of("key")[1]);  // a hole too small for the new value
  const std::string larger(20'000, 'n');
  EXPECT_EQ(error_of([&] { tree().upsert("key", larger); }, "names pages that are free"),
            ErrorCode::corruption);
  std::string value;
  EXPECT_TRUE(tree().lookup("key", value));
  EXPECT_EQ(value, larger);
  for (const PageId page : pages_of("key")) {
    EXPECT_TRUE(database_->space().is_allocated(page)) << raw(page);
  }
}

}  // namespace
}  // namespace palimpsest::btree
