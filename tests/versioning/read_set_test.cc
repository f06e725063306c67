// The read set that a commit validates, compared with a model that remembers every key and range.
#include "versioning/read_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::versioning::test {
namespace {

constexpr int kTrees = 3;
constexpr std::uint64_t kKeys = 200;
constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20U;

std::string key_of(std::uint64_t number) {
  return fmt::format("{:03}", number);
}

/// A key that is a number, or lies between two numbers.
std::string any_key(Random& random) {
  const std::string key = key_of(random.below(kKeys));
  return random.one_in(4) ? key + std::string(1, random.one_in(2) ? '\0' : 'x') : key;
}

struct Span {
  std::string lower;
  std::optional<std::string> upper;

  [[nodiscard]] bool has(const std::string& key) const {
    return key >= lower && (!upper || key < *upper);
  }
};

struct Model {
  std::set<std::string> keys;
  std::vector<Span> ranges;

  [[nodiscard]] bool covers(const std::string& key) const {
    return keys.contains(key) ||
           std::ranges::any_of(ranges, [&](const Span& range) { return range.has(key); });
  }
};

void extend(Random& random, ReadSet& reads, ReadSet::RangeId& id, Span& range) {
  const std::string key = any_key(random);
  switch (random.below(4)) {
    case 0:
      reads.extend_to(id, key);
      range.lower = std::min(range.lower, key);
      if (range.upper && *range.upper <= key) {
        range.upper = key + '\0';
      }
      break;
    case 1:
      reads.extend_down_to(id, key);
      range.lower = std::min(range.lower, key);
      break;
    case 2:
      reads.extend_up_to(id, key);
      range.upper = range.upper ? std::optional(std::max(*range.upper, key)) : std::nullopt;
      break;
    default:
      if (random.one_in(10)) {
        reads.extend_up_to(id, std::nullopt);
        range.upper.reset();
      }
  }
}

TEST(ReadSetTest, CoversWhatWasReadAndNothingElse) {
  Random random(palimpsest::test::seed());
  ReadMemory memory(kPlenty);
  ReadSet reads(memory);
  for (int round = 0; round < 300; ++round) {
    reads.begin();
    EXPECT_TRUE(reads.empty());
    std::vector<Model> models(kTrees);
    std::vector<std::pair<ReadSet::RangeId, std::pair<std::size_t, std::size_t>>> open;
    for (std::uint64_t step = random.below(60); step > 0; --step) {
      const std::size_t number = random.below(kTrees);
      const TreeId tree{static_cast<std::uint32_t>(number + 1)};
      Model& model = models[number];
      if (random.one_in(2)) {
        const std::string key = any_key(random);
        reads.add_key(tree, key);
        model.keys.insert(key);
      } else if (random.one_in(2) || open.empty()) {
        const std::string lower = any_key(random);
        const std::string upper = random.one_in(3) ? lower : std::max(lower, any_key(random));
        const bool is_bounded = !random.one_in(10);
        const auto id = reads.add_range(tree, lower,
                                        is_bounded ? std::optional<ByteView>(upper) : std::nullopt);
        model.ranges.push_back({lower, is_bounded ? std::optional(upper) : std::nullopt});
        open.emplace_back(id, std::pair(number, model.ranges.size() - 1));
      } else {
        auto& [id, place] = open[random.below(open.size())];
        extend(random, reads, id, models[place.first].ranges[place.second]);
      }
      if (random.one_in(20)) {
        reads.seal();  // a commit that was refused, and is tried again
      }
    }
    reads.seal();
    for (std::size_t number = 0; number < models.size(); ++number) {
      for (int i = 0; i < 100; ++i) {
        const std::string key = any_key(random);
        ASSERT_EQ(reads.covers(TreeId{static_cast<std::uint32_t>(number + 1)}, key),
                  models[number].covers(key))
            << round << ": " << key;
      }
    }
  }
}

// With any budget: everything read is covered, and the memory stays within bounds all the time.
TEST(ReadSetTest, WithLittleMemoryItIsCoarserAndMissesNothing) {
  const std::uint64_t seed = palimpsest::test::seed();
  Random random(seed);
  for (palimpsest::test::Rounds rounds(40, 2); rounds.next();) {
    const std::uint64_t most = 4 * ReadSet::kGrantedBytes << random.below(6);
    ReadMemory memory(most);
    ReadSet reads(memory);
    for (int life = 0; life < 2; ++life) {
      reads.begin();
      std::vector<Model> models(kTrees);
      std::vector<std::pair<ReadSet::RangeId, std::pair<std::size_t, std::size_t>>> open;
      // some keys fit their string's own memory, some do not
      const std::uint64_t width = random.below(40);
      const auto wide_key = [&](Random& from) {
        return fmt::format("{:06}{}", from.below(100'000), std::string(width, 'k'));
      };
      for (std::uint64_t step = random.below(6000); step > 0; --step) {
        const std::size_t number = random.below(kTrees);
        const TreeId tree{static_cast<std::uint32_t>(number + 1)};
        Model& model = models[number];
        const std::string key = wide_key(random);
        if (!random.one_in(20)) {
          reads.add_key(tree, key);
          model.keys.insert(key);
        } else if (random.one_in(2) || open.empty()) {
          open.emplace_back(reads.add_range(tree, key, key),
                            std::pair(number, model.ranges.size()));
          model.ranges.push_back({key, key});
        } else {
          auto& [id, place] = open[random.below(open.size())];
          Span& range = models[place.first].ranges[place.second];
          reads.extend_to(id, key);
          range.lower = std::min(range.lower, key);
          range.upper = std::max(*range.upper, key + '\0');
        }
        ASSERT_LE(reads.bytes_in_use(), std::max<std::uint64_t>(most / 4, ReadSet::kGrantedBytes));
        ASSERT_EQ(memory.bytes_in_use(), reads.bytes_in_use()) << "seed " << seed;
        if (random.one_in(1000)) {
          reads.seal();
        }
      }
      reads.seal();
      for (std::size_t number = 0; number < models.size(); ++number) {
        const TreeId tree{static_cast<std::uint32_t>(number + 1)};
        for (const std::string& key : models[number].keys) {
          ASSERT_TRUE(reads.covers(tree, key)) << "seed " << seed << ": " << key;
        }
        for (int i = 0; i < 500; ++i) {
          const std::string key = wide_key(random);
          ASSERT_TRUE(!models[number].covers(key) || reads.covers(tree, key))
              << "seed " << seed << ": " << key;
        }
      }
      reads.end();
      EXPECT_LE(memory.bytes_in_use(), 4096U);
    }
  }
}

// Keys read in order cover little more than was read when they have become ranges.
TEST(ReadSetTest, KeysThatWereReadInOrderBecomeTheRangesThatHoldThem) {
  ReadMemory memory(std::uint64_t{64} << 10U);
  ReadSet reads(memory);
  reads.begin();
  const TreeId tree{1};
  const auto key = [](int number) { return fmt::format("{:08}", number); };
  constexpr int kRead = 20'000;  // ten times what fits
  for (int number = 0; number < kRead; ++number) {
    reads.add_key(tree, key(number));
  }
  for (int number = 50'000; number < 50'000 + kRead; ++number) {
    reads.add_key(tree, key(number));
  }
  reads.seal();
  EXPECT_LE(memory.bytes_in_use(), memory.bytes_max_of_one());
  for (int number = 0; number < kRead; ++number) {
    ASSERT_TRUE(reads.covers(tree, key(number)));
    ASSERT_TRUE(reads.covers(tree, key(50'000 + number)));
  }
  for (int number = kRead; number < 50'000; ++number) {
    ASSERT_FALSE(reads.covers(tree, key(number))) << "no transaction has read what lies between";
  }
}

TEST(ReadSetTest, RangesAreJoinedWhereTheyAreNear) {
  ReadMemory memory(std::uint64_t{64} << 10U);
  ReadSet reads(memory);
  reads.begin();
  const TreeId tree{1};
  const auto key = [](int number) { return fmt::format("{:08}", number); };
  for (int place = 0; place < 20; ++place) {
    for (int i = 0; i < 200; ++i) {
      const int from = 1'000'000 * place + 10 * i;
      reads.add_range(tree, key(from), key(from + 5));
    }
  }
  reads.seal();
  EXPECT_LE(memory.bytes_in_use(), memory.bytes_max_of_one());
  for (int place = 0; place < 20; ++place) {
    EXPECT_TRUE(reads.covers(tree, key(1'000'000 * place + 1003)));
    EXPECT_FALSE(reads.covers(tree, key(1'000'000 * place + 500'000)));
  }
}

TEST(ReadSetTest, OneThatMayGrowNoMoreHasReadAllOfATree) {
  ReadMemory memory(4 * ReadSet::kGrantedBytes);
  ReadSet reads(memory);
  reads.begin();
  const std::string longest(ReadSet::kGrantedBytes, 'l');
  auto open = reads.add_range(TreeId{1}, longest, ByteView(longest));
  reads.extend_to(open, longest + "c");
  reads.add_key(TreeId{2}, "y");
  reads.seal();
  EXPECT_TRUE(reads.covers(TreeId{1}, "x"));
  EXPECT_TRUE(reads.covers(TreeId{2}, "y"));
  EXPECT_FALSE(reads.covers(TreeId{2}, "x"));
  reads.begin();
  reads.add_key(TreeId{1}, "y");
  reads.seal();
  EXPECT_FALSE(reads.covers(TreeId{1}, "x"));
  EXPECT_TRUE(reads.covers(TreeId{1}, "y"));
}

// One large set leaves the other sets memory to be exact.
TEST(ReadSetTest, EachHasAShareOfTheMemory) {
  ReadMemory memory(std::uint64_t{256} << 10U);
  const auto key = [](std::uint64_t number) { return fmt::format("{:08}", number); };
  Random random(palimpsest::test::seed());
  ReadSet large(memory);
  large.begin();
  for (int i = 0; i < 100'000; ++i) {
    large.add_key(TreeId{1}, key(random.below(10'000'000)));
  }
  EXPECT_LE(large.bytes_in_use(), memory.bytes_max_of_one());
  ReadSet small(memory);
  small.begin();
  for (std::uint64_t i = 0; i < 2000; ++i) {
    small.add_key(TreeId{1}, key(100 * i));
  }
  small.seal();
  EXPECT_TRUE(small.covers(TreeId{1}, key(100)));
  EXPECT_FALSE(small.covers(TreeId{1}, key(101)));
  small.end();
  large.end();
  EXPECT_LE(memory.bytes_in_use(), 2 * 4096U);
}

}  // namespace
}  // namespace palimpsest::versioning::test
