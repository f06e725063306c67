// A tree whose leaves tests load and evict at will, for forced interleavings.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "btree/btree.h"
#include "btree/node/inner_node.h"
#include "buffer/page_guard.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::test {

/// So many records, ten a leaf, in a clean file.
class ClosedTreeTest : public ::testing::Test {
 protected:
  ClosedTreeTest(std::uint64_t records, const TreeOptions& options)
      : options_(options), device_(disk_.device()) {
    {
      const auto filling = TreeDatabase::create(*device_, options);
      for (std::uint64_t i = 0; i < records; ++i) {
        EXPECT_TRUE(filling->tree().insert(key_of(i), old_value(i)));
      }
      filling->close();
    }
    database_ = TreeDatabase::open(*device_, options);
  }

  static std::string key_of(std::uint64_t i) {
    std::string key = std::to_string(i);
    return std::string(6 - key.size(), '0') + key;
  }
  static std::string old_value(std::uint64_t i) { return std::string(380, 'o') + key_of(i); }

  [[nodiscard]] btree::BTree& tree() { return database_->tree(); }
  [[nodiscard]] std::string value_of(std::uint64_t i) {
    std::string value = "absent";
    static_cast<void>(tree().lookup(key_of(i), value));
    return value;
  }

  /// The page of the leaf that holds a record, and whether it is in memory.
  struct Leaf {
    PageId page = kNoPage;
    FrameIndex frame = kNoFrame;
  };
  [[nodiscard]] Leaf leaf_of(std::uint64_t i) {
    const auto parent = tree().descent().node<buffer::SharedPage>(btree::Target{key_of(i)}, 1);
    const btree::InnerView node(parent.page(), options_.page_size_bytes);
    const auto swip = buffer::Swip::of_word(node.swip_at(node.route(key_of(i))));
    if (!swip.swizzled()) {
      return {.page = swip.page()};
    }
    return {.page = database_->pool().frames()[swip.frame()].page_id.load(), .frame = swip.frame()};
  }
  [[nodiscard]] bool resident(std::uint64_t i) { return leaf_of(i).frame != kNoFrame; }

  const TreeOptions options_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

/// About a hundred leaves, which do not fit the pool together.
class InterleavingTest : public ClosedTreeTest {
 protected:
  static constexpr std::uint64_t kRecords = 1000;
  static constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 60};

  InterleavingTest() : ClosedTreeTest(kRecords, kOptions) {}

  static std::string new_value(std::uint64_t i) { return std::string(380, 'n') + key_of(i); }

  /// Reads other records until this one's leaf has left memory. Writes the leaf before, since a
  /// dirty page may stay long: clean ones are evicted first.
  void evict(std::uint64_t i) {
    database_->pool().flush();
    for (std::uint64_t other = 0; resident(i); other += 7) {
      ASSERT_LT(other, 200'000'000U) << "the leaf is never evicted";
      const std::uint64_t read = other % kRecords;
      if (read / 50 != i / 50) {
        static_cast<void>(value_of(read));
      }
    }
  }
};

}  // namespace palimpsest::test
