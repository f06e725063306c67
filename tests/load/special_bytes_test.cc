// The positions of special bytes, compared with a walk over all bytes.
#include "tools/load/special_bytes.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tools/load/special_places.h"

namespace palimpsest::load {
namespace {

constexpr SpecialBytes::Set kSet{',', '\n', '"', '\xFF'};

/// One byte of so many is special.
std::string random_text(Random& random, std::size_t bytes, std::uint64_t one_of) {
  std::string text(bytes, '\0');
  for (char& byte : text) {
    byte = random.below(one_of) == 0 ? kSet[random.below(4)] : static_cast<char>(random.below(255));
  }
  return text;
}

std::vector<std::size_t> places_in(std::string_view text, std::size_t from = 0) {
  std::vector<std::size_t> places;
  for (std::size_t at = from; at < text.size(); ++at) {
    if (std::ranges::find(kSet, text[at]) != kSet.end()) {
      places.push_back(at);
    }
  }
  return places;
}

TEST(SpecialBytes, OfAnyTextOneByOne) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < palimpsest::test::repeats(300); ++round) {
    const std::string text = random_text(random, random.below(20'000), 1 + random.below(300));
    SpecialBytes special(text, kSet);
    std::vector<std::size_t> found;
    for (std::size_t at = special.next(); at != text.size(); at = special.next()) {
      found.push_back(at);
      if (random.below(8) == 0) {
        special.go_back_to(at);
        ASSERT_EQ(special.next(), at);
      }
    }
    ASSERT_EQ(found, places_in(text));
    ASSERT_EQ(special.next(), text.size());
  }
}

TEST(SpecialBytes, GoOnAnywhere) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < palimpsest::test::repeats(300); ++round) {
    const std::string text = random_text(random, 1 + random.below(20'000), 1 + random.below(300));
    SpecialBytes special(text, kSet);
    for (std::size_t at = 0; at < text.size();) {
      at += random.below(random.below(2) == 0 ? 100 : 6'000);
      at = std::min(at, text.size());
      special.go_to(at);
      const auto places = places_in(text, at);
      const auto ahead = special.ahead(at, random.below(50));
      for (std::size_t i = 0; i < ahead.size(); ++i) {
        ASSERT_EQ(special.window() + ahead[i], places[i]);
      }
      at = special.next();
      ASSERT_EQ(at, places.empty() ? text.size() : places.front());
      at += at < text.size() ? 1U : 0U;
    }
  }
}

TEST(SpecialBytes, AreAheadAsManyAsAreWanted) {
  std::string text(10'000, 'a');
  text.replace(3'000, 3, ",,,");
  text.replace(5'000, 3, ",,,");
  SpecialBytes special(text, kSet);
  EXPECT_EQ(special.ahead(2'000, 6).size(), 6U);
  special.pass(4);
  EXPECT_EQ(special.next(), 5'001U);
  EXPECT_EQ(special.ahead(5'002, 2).size(), 1U) << "there are no more";
}

TEST(SpecialBytes, OfEveryKindOfProcessor) {
  Random random(palimpsest::test::seed());
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  for (int round = 0; round < 1'000; ++round) {
    const std::size_t blocks = 1 + random.below(20);
    const std::string text = random_text(random, 64 * blocks, 1 + random.below(20));
    const auto expected = places_in(text);
    std::vector<std::uint16_t> places(text.size() + kSpecialPlacesSlack);
    const auto expect = [&](std::size_t count) {
      ASSERT_EQ(std::vector<std::size_t>(places.begin(),
                                         places.begin() + static_cast<std::ptrdiff_t>(count)),
                expected);
    };
    expect(find_special_sse2(text.data(), blocks, kSet.data(), places.data()));
    std::ranges::fill(places, 0xFFFF);
    if (has_avx2) {
      expect(find_special_avx2(text.data(), blocks, kSet.data(), places.data()));
    }
  }
}

}  // namespace
}  // namespace palimpsest::load
