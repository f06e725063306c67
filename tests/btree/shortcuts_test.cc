// What a list of lower inner nodes reports as proven is true, and descents with and without a list
// find the same leaves.
#include "btree/shortcuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;

std::string numbers(Random& random, std::size_t columns) {
  std::string key;
  for (std::size_t i = 0; i < columns; ++i) {
    key += big_endian(random.below(i + 1 == columns ? 3000 : 10)).substr(4);
  }
  return key;
}

/// A list of nodes with given fences; the frame of each is its number.
class List {
 public:
  explicit List(const std::set<std::string>& fences) : fences_(fences.begin(), fences.end()) {
    std::vector<Shortcuts::Node> nodes(fences_.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      nodes[i].set_fence(fences_[i], {});
      nodes[i].frame = FrameIndex{i};
      nodes[i].version = i + 1;
    }
    shortcuts_.renew([&] { return std::span<const Shortcuts::Node>(nodes); });
  }

  /// Whether the list proves a node for the key; false too if there is none.
  bool guess(const std::string& key) {
    const Shortcuts::Guess guess = shortcuts_.guess(key);
    if (!guess.is_proven) {
      return false;
    }
    const std::size_t number = raw(guess.frame);
    EXPECT_LT(number, fences_.size());
    EXPECT_EQ(guess.version, number + 1);
    EXPECT_LE(fences_[number], key);
    EXPECT_TRUE(number + 1 == fences_.size() || key < fences_[number + 1]);
    return true;
  }

 private:
  std::vector<std::string> fences_;
  Shortcuts shortcuts_;
};

TEST(Shortcuts, ProveOnlyWhatIsTrue) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < 400; ++round) {
    const KeyShape shape = kKeyShapes[random.below(std::size(kKeyShapes))];
    const std::size_t columns = random.below(5);  // 0: keys of the shape
    const auto any_key = [&] {
      std::string key = columns == 0 ? random_key(random, shape, 4096) : numbers(random, columns);
      if (random.one_in(20)) {
        key[random.below(key.size())] = static_cast<char>(random());
      }
      return random.one_in(3) ? key.substr(0, random.between(1, key.size())) : key;
    };
    std::set<std::string> fences{std::string()};
    const std::uint64_t nodes = random.between(2, 200);
    for (std::uint64_t i = 1; i < nodes; ++i) {
      fences.insert(any_key());
    }
    List list(fences);
    for (int i = 0; i < 500 && !::testing::Test::HasFailure(); ++i) {
      list.guess(any_key());
    }
    for (const std::string& fence : fences) {
      list.guess(fence);
    }
  }
}

TEST(Shortcuts, ProveMostKeysOfNumbers) {
  Random random(palimpsest::test::seed());
  for (std::size_t columns = 1; columns <= 4; ++columns) {
    std::set<std::string> fences{std::string()};
    while (fences.size() < 300) {
      fences.insert(numbers(random, columns));
    }
    List list(fences);
    int proven = 0;
    for (int i = 0; i < 1000; ++i) {
      proven += list.guess(numbers(random, columns)) ? 1 : 0;
    }
    EXPECT_GT(proven, 800) << columns << " columns";
  }
}

TEST(Shortcuts, SayNothingWithoutNodes) {
  Shortcuts shortcuts;
  EXPECT_EQ(shortcuts.guess("key").frame, kNoFrame);
  EXPECT_TRUE(shortcuts.is_due());
  shortcuts.renew([] { return std::span<const Shortcuts::Node>(); });
  EXPECT_EQ(shortcuts.guess("key").frame, kNoFrame);
  EXPECT_FALSE(shortcuts.is_due());
}

// A descent that finds no guess meanwhile goes on without one, however long that takes.
TEST(Shortcuts, AreMadeAnewByOneAtATime) {
  Shortcuts shortcuts;
  shortcuts.renew([&] {
    EXPECT_FALSE(shortcuts.is_due());
    std::this_thread::sleep_for(2 * Shortcuts::kRenewedEvery);
    EXPECT_FALSE(shortcuts.is_due());
    return std::span<const Shortcuts::Node>();
  });
  EXPECT_FALSE(shortcuts.is_due());
  EXPECT_TRUE(palimpsest::test::eventually([&] { return shortcuts.is_due(); }));
}

// The list is old: nodes have been split, merged and evicted since.
TEST(Shortcuts, FindWhatTheTreeHas) {
  constexpr int kPhase = 12'000;  // it grows, shrinks and grows again
  Random random(palimpsest::test::seed());
  for (const std::uint32_t frames : {64U, 2048U}) {
    SimDisk disk;
    const auto device = disk.device();
    const auto database = TreeDatabase::create(*device, {.frames = frames});
    BTree& tree = database->tree();
    std::map<std::string, std::string> model;
    std::uint32_t highest = 0;  // it may end while it shrinks
    const auto end = std::chrono::steady_clock::now() + 8 * Shortcuts::kRenewedEvery;
    for (int step = 0; step < 3 * kPhase || std::chrono::steady_clock::now() < end; ++step) {
      const std::string key = numbers(random, 3);
      const bool is_shrinking = step / kPhase % 2 == 1;
      if (random.one_in(is_shrinking ? 8 : 2)) {
        const std::string value = random_bytes(random, random.below(200));
        ASSERT_EQ(tree.upsert(key, value), !model.contains(key));
        model[key] = value;
      } else if (is_shrinking) {
        const auto at = model.lower_bound(key);
        if (at != model.end()) {
          ASSERT_TRUE(tree.remove(at->first));
          model.erase(at);
        }
      }
      const auto at = model.lower_bound(numbers(random, 3));
      std::string value;
      if (at != model.end()) {
        ASSERT_TRUE(tree.lookup(at->first, value)) << step;
        ASSERT_EQ(value, at->second);
      }
      ASSERT_EQ(tree.lookup(key, value), model.contains(key));
      highest = std::max(highest, step % 1000 == 0 ? tree.descent().root_level() : 0);
    }
    EXPECT_GE(highest, 2U);
    EXPECT_TRUE(palimpsest::test::sound(*database));
  }
}

}  // namespace
}  // namespace palimpsest::btree::test
