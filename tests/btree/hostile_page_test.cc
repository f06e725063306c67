// Pages with valid checksums that cannot be where they are: the error names the file, the page and
// what is wrong, other pages stay readable, and no frame leaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "btree/node/node_layout.h"
#include "buffer/page_header.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/error_of.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::TreeDatabase;
using ::testing::HasSubstr;

constexpr std::uint64_t kVictim = 500;    ///< a record of the leaf that is damaged
constexpr std::uint64_t kStranger = 100;  ///< a record of another leaf
constexpr std::uint32_t kPageBytes = 4096;

template <class T>
void put(std::span<std::byte> page, std::size_t offset, T value) {
  std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value, page.data() + offset);
}

/// A change of a page's image, and the expected error text.
struct Damage {
  const char* name;
  std::function<void(std::span<std::byte> page, std::span<const std::byte> stranger)> apply;
  const char* message;
};

class HostilePage : public palimpsest::test::InterleavingTest,
                    public ::testing::WithParamInterface<Damage> {
 protected:
  [[nodiscard]] std::vector<std::byte> image_of(PageId page) {
    const std::vector<std::byte> file = disk_.contents(TreeDatabase::kFileName);
    const auto begin =
        file.begin() + static_cast<std::ptrdiff_t>(database_->file().offset_of(page));
    return {begin, begin + kPageBytes};
  }

  /// Changes a page on disk, corrects its checksum, and opens the file again.
  void damage(PageId page, PageId stranger, const Damage& how) {
    database_->close();
    std::vector<std::byte> image = image_of(page);
    how.apply(image, image_of(stranger));
    put(image, offsetof(buffer::PageHeader, page_id), page);
    buffer::seal_page(image, 1);
    const std::uint64_t place = database_->file().offset_of(page);
    database_.reset();
    disk_.overwrite(TreeDatabase::kFileName, place, image);
  }

  [[nodiscard]] std::vector<std::string> keys_of_other_leaves(PageId damaged) {
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (leaf_of(i).page != damaged) {
        keys.push_back(key_of(i));
      }
    }
    return keys;
  }
};

TEST_P(HostilePage, IsRefusedAndNothingElse) {
  const PageId page = leaf_of(kVictim).page;
  const std::vector<std::string> others = keys_of_other_leaves(page);
  damage(page, leaf_of(kStranger).page, GetParam());
  database_ = TreeDatabase::open(*device_, kOptions);
  const std::string victim = key_of(kVictim);
  const ByteView victims[] = {victim};
  // More often than there are frames: each refusal frees its frame.
  for (std::uint32_t i = 0; i < 3 * kOptions.frames; ++i) {
    if (i % 2 == 1) {
      // reads in a batch, and leaves the error to the caller that needs the page
      tree().prefetch(victims);
    }
    std::string message;
    std::string value;
    ASSERT_EQ(error_of([&] { return tree().lookup(victim, value); }, &message),
              ErrorCode::corruption);
    ASSERT_THAT(message, HasSubstr(TreeDatabase::kFileName));
    ASSERT_THAT(message, HasSubstr("page " + std::to_string(raw(page))));
    ASSERT_THAT(message, HasSubstr(GetParam().message));
  }
  std::string value;
  for (const std::string& key : others) {
    ASSERT_TRUE(tree().lookup(key, value)) << key;
  }
  EXPECT_EQ(error_of([&] { return tree().remove(victim); }), ErrorCode::corruption);
}

const Damage kDamages[] = {
    {"NotOfATree",
     [](auto page, auto) {
       put(page, offsetof(buffer::PageHeader, type), buffer::PageType::extent_block);
     },
     "cannot be part of a tree"},
    {"OfAnotherTree",
     [](auto page, auto) { put(page, offsetof(buffer::PageHeader, tree_id), TreeId{99}); },
     "tree 99 below one of level 1"},
    {"AnotherLeaf", [](auto page, auto stranger) { std::ranges::copy(stranger, page.begin()); },
     "where the parent has"},
    {"MoreRecordsThanRoom",
     [](auto page, auto) {
       put(page, kNodeHeaderOffset + offsetof(NodeHeader, count), std::uint16_t{60000});
     },
     "do not fit the page"},
    {"LeafWithALevel",
     [](auto page, auto) {
       put(page, kNodeHeaderOffset + offsetof(NodeHeader, level), std::uint8_t{3});
     },
     "level 3 does not suit a leaf"},
};

INSTANTIATE_TEST_SUITE_P(Damages, HostilePage, ::testing::ValuesIn(kDamages),
                         [](const auto& damage) { return damage.param.name; });

class HostileRoot : public HostilePage {};

TEST_P(HostileRoot, IsRefused) {
  const PageId root = tree().root_page();
  damage(root, leaf_of(kStranger).page, GetParam());
  database_ = TreeDatabase::open(*device_, kOptions);  // opening does not read the page
  for (std::uint32_t i = 0; i < 3 * kOptions.frames; ++i) {
    EXPECT_EQ(error_of([&] { return value_of(kVictim); }, GetParam().message),
              ErrorCode::corruption);
    EXPECT_EQ(error_of([&] { return tree().insert("key", "value"); }), ErrorCode::corruption);
  }
}

const Damage kRootDamages[] = {
    {"OfAnotherTree",
     [](auto page, auto) { put(page, offsetof(buffer::PageHeader, tree_id), TreeId{99}); },
     "is not the root of tree 7"},
    {"ALeafOfTheTree", [](auto page, auto stranger) { std::ranges::copy(stranger, page.begin()); },
     "it has fences"},
};

INSTANTIATE_TEST_SUITE_P(Damages, HostileRoot, ::testing::ValuesIn(kRootDamages),
                         [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace palimpsest::btree
