// Which pages leave memory: those that are used again and again stay, whatever passes by.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "base/random.h"
#include "btree/btree.h"
#include "btree/inner_node.h"
#include "buffer/frame.h"
#include "buffer/page_guard.h"
#include "buffer/swip.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::buffer {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using palimpsest::test::TreeOptions;

int visits_until_cold(Frame& frame) {
  int visits = 1;
  while (!frame.is_cold_at_visit()) {
    ++visits;
  }
  return visits;
}

TEST(FrameHeat, APageThatHasComeHasOneVisit) {
  Frame frame;
  frame.begin_use();
  EXPECT_EQ(visits_until_cold(frame), 2);
  EXPECT_TRUE(frame.is_cold_at_visit()) << "it stays cold";
}

TEST(FrameHeat, EachVisitThatFindsItUsedGivesItOneMore) {
  for (int used = 1; used <= Frame::kHeatMax + 1; ++used) {
    Frame frame;
    frame.begin_use();
    for (int i = 0; i < used; ++i) {
      EXPECT_FALSE(frame.is_cold_at_visit());
      frame.touch();
    }
    frame.cool.store(true);
    EXPECT_EQ(visits_until_cold(frame), used) << "the first use does not count";
  }
}

TEST(FrameHeat, IsBounded) {
  Frame frame;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(frame.is_cold_at_visit());
    frame.touch();
  }
  frame.cool.store(true);
  EXPECT_EQ(visits_until_cold(frame), Frame::kHeatMax + 1);
}

TEST(FrameHeat, IsNotTheNextPages) {
  Frame frame;
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(frame.is_cold_at_visit());
    frame.touch();
  }
  frame.begin_use();
  EXPECT_EQ(visits_until_cold(frame), 2);
}

// Some leaves are read again and again; then a third of the others are, for a while each, more
// than there are frames.
class Replacement : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRecords = 36'000;  ///< about ten a leaf
  static constexpr std::uint64_t kEach = 200;        ///< one in so many is hot
  static constexpr std::uint64_t kHot = kRecords / kEach;
  static constexpr TreeOptions kOptions{.page_size_bytes = 4096, .frames = 1000};

  Replacement() : device_(disk_.device()), database_(TreeDatabase::create(*device_, kOptions)) {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      EXPECT_TRUE(database_->tree().insert(key_of(i), std::string(380, 'v')));
    }
    database_->pool().flush();
  }

  static std::string key_of(std::uint64_t i) {
    const std::string digits = std::to_string(i);
    return std::string(6 - digits.size(), '0') + digits;
  }
  void read(std::uint64_t i) {
    std::string value;
    ASSERT_TRUE(database_->tree().lookup(key_of(i), value));
  }
  void read_hot() {
    for (std::uint64_t hot = 0; hot < kRecords; hot += kEach) {
      read(hot);
    }
  }
  [[nodiscard]] bool resident(std::uint64_t i) {
    const auto parent = database_->tree().descent().node<SharedPage>(btree::Target{key_of(i)}, 1);
    const btree::InnerView node(parent.page(), kOptions.page_size_bytes);
    return Swip::of_word(node.swip_at(node.route(key_of(i)))).swizzled();
  }
  [[nodiscard]] std::uint64_t resident_hot() {
    std::uint64_t count = 0;
    for (std::uint64_t hot = 0; hot < kRecords; hot += kEach) {
      count += resident(hot) ? 1U : 0U;
    }
    return count;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

TEST_F(Replacement, AScanLeavesWhatIsUsedAgainAndAgain) {
  Random random(palimpsest::test::seed());
  for (int i = 0; i < 100; ++i) {
    read_hot();
    for (int j = 0; j < 100; ++j) {
      read(random.below(kRecords));
    }
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    if (i % kEach > kEach / 3 && i % kEach < kEach * 2 / 3) {  // far from what is hot
      read(i);
    }
  }
  const std::uint64_t stayed = resident_hot();
  std::cout << stayed << " of " << kHot << " stayed\n";
  EXPECT_GE(stayed, kHot / 2);
}

}  // namespace
}  // namespace palimpsest::buffer
