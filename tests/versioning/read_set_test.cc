// What was read, as a commit asks for it: beside a model that remembers every key and every range.
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

namespace palimpsest::versioning::test {
namespace {

constexpr int kTrees = 3;
constexpr std::uint64_t kKeys = 200;

std::string key_of(std::uint64_t number) {
  return fmt::format("{:03}", number);
}

/// Keys are numbers, or lie between two of them.
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

void extend(Random& random, ReadSet& reads, ReadSet::RangeId id, Span& range) {
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
  ReadSet reads;
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
        const std::string upper = random.one_in(3) ? lower : any_key(random);
        const bool is_bounded = !random.one_in(10);
        const auto id = reads.add_range(tree, lower,
                                        is_bounded ? std::optional<ByteView>(upper) : std::nullopt);
        model.ranges.push_back({lower, is_bounded ? std::optional(upper) : std::nullopt});
        open.emplace_back(id, std::pair(number, model.ranges.size() - 1));
      } else {
        const auto& [id, place] = open[random.below(open.size())];
        extend(random, reads, id, models[place.first].ranges[place.second]);
      }
      if (random.one_in(20)) {
        reads.seal();  // a commit that could not be, and is tried again
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

TEST(ReadSetTest, WhoReadsTooMuchOfATreeHasReadAllOfIt) {
  ReadSet reads;
  reads.begin();
  const TreeId tree{1};
  const auto open = reads.add_range(tree, "a", "b");
  for (std::size_t i = 0; i <= ReadSet::kRangesMax; ++i) {
    static_cast<void>(reads.add_range(tree, key_of(i), ByteView(key_of(i))));
  }
  reads.extend_to(open, "c");
  reads.add_key(TreeId{2}, "y");
  reads.seal();
  EXPECT_TRUE(reads.covers(tree, "x"));
  EXPECT_FALSE(reads.covers(TreeId{2}, "x"));
  reads.begin();
  reads.add_key(tree, "y");
  reads.seal();
  EXPECT_FALSE(reads.covers(tree, "x"));
  EXPECT_TRUE(reads.covers(tree, "y"));
  reads.begin();
  for (std::size_t i = 0; i <= ReadSet::kKeysMax; ++i) {
    reads.add_key(tree, key_of(i));
  }
  reads.seal();
  EXPECT_TRUE(reads.covers(tree, "x"));
}

}  // namespace
}  // namespace palimpsest::versioning::test
