// The runs of bytes in which two values differ: equal to a search byte by byte, and sufficient to
// make one value from the other.
#include "btree/node/value_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::btree {
namespace {

using Runs = std::vector<std::pair<std::size_t, std::size_t>>;

Runs runs_of(ByteView before, ByteView after, std::size_t from) {
  Runs runs;
  for_each_difference(before, after, from, [&](std::size_t offset, std::size_t length) {
    runs.emplace_back(offset, length);
  });
  return runs;
}

Runs byte_by_byte(ByteView before, ByteView after, std::size_t from) {
  Runs runs;
  for (std::size_t at = from; at < before.size(); ++at) {
    if (before[at] == after[at]) {
      continue;
    }
    if (!runs.empty() && at - (runs.back().first + runs.back().second) < kRunGapMin) {
      runs.back().second = at + 1 - runs.back().first;
    } else {
      runs.emplace_back(at, 1);
    }
  }
  return runs;
}

/// `before` with the differences put into it.
std::string changed(ByteView before, ByteView after, const Runs& runs) {
  std::string made(before);
  for (const auto& [offset, length] : runs) {
    std::vector<std::byte> difference(length + 1, std::byte{0xEE});
    put_difference(before.substr(offset, length), after.data() + offset, difference.data());
    EXPECT_EQ(difference[length], std::byte{0xEE}) << "nothing behind it is written";
    for (std::size_t i = 0; i < length; ++i) {
      made[offset + i] = static_cast<char>(made[offset + i] ^ static_cast<char>(difference[i]));
    }
  }
  return made;
}

TEST(ValueDifference, AgreesWithComparingBytes) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < 20'000; ++round) {
    std::string before(random.below(400), 'b');
    std::ranges::generate(before, [&] { return static_cast<char>(random()); });
    std::string after = before;
    const std::uint64_t changes = before.empty() ? 0 : random.below(random.one_in(4) ? 60 : 6);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t begin = random.below(before.size());
      const std::size_t end = std::min(before.size(), begin + 1 + random.below(9));
      std::generate(after.begin() + static_cast<std::ptrdiff_t>(begin),
                    after.begin() + static_cast<std::ptrdiff_t>(end),
                    [&] { return static_cast<char>(random()); });
    }
    const Runs all = runs_of(before, after, 0);
    ASSERT_EQ(all, byte_by_byte(before, after, 0)) << before.size() << " bytes";
    ASSERT_EQ(changed(before, after, all), after);
    const std::size_t from = before.empty() ? 0 : random.below(before.size() + 1);
    ASSERT_EQ(runs_of(before, after, from), byte_by_byte(before, after, from));
  }
}

// At the border of two blocks, and of the last one, which overlaps.
TEST(ValueDifference, JoinsWhatIsCloseAcrossBlocks) {
  for (const std::size_t size : {15U, 16U, 17U, 63U, 64U, 65U, 70U, 128U, 130U, 200U}) {
    for (std::size_t first = 0; first < size; ++first) {
      for (std::size_t gap = 1; gap <= 4 && first + gap < size; ++gap) {
        const std::string before(size, 'b');
        std::string after = before;
        after[first] = 'x';
        after[first + gap] = 'y';
        ASSERT_EQ(runs_of(before, after, 0), byte_by_byte(before, after, 0))
            << first << " and " << first + gap << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace palimpsest::btree
