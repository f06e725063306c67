// The distributions of the random values that the workloads share.
#include "experiments/tables/random.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments {
namespace {

TEST(RandomText, HasAllLengthsAndAllCharacters) {
  constexpr std::string_view kSet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  Random random(3);
  test::Counts sizes(15);
  test::Counts characters(kSet.size());
  for (int i = 0; i < 20'000; ++i) {
    const auto text = random_text<24>(random, 10, 24);
    sizes.add(static_cast<std::int64_t>(text.size()) - 10);
    for (const char character : text.view()) {
      const std::size_t at = kSet.find(character);
      ASSERT_NE(at, std::string_view::npos) << text.view();
      characters.add(static_cast<std::int64_t>(at));
    }
  }
  sizes.expect_uniform();
  characters.expect_uniform();
}

TEST(RandomNumbers, HaveTheirDistributions) {
  Random random(8);
  test::Counts numbers(7);
  test::Counts percents(2);
  test::Counts non_uniforms(90);
  for (int i = 0; i < 200'000; ++i) {
    numbers.add(number_between(random, -3, 3) + 3);
    percents.add(percent_of(random, 30) ? 1 : 0);
    non_uniforms.add(non_uniform(random, 31, 10, 99, 17) - 10);
  }
  numbers.expect_uniform();
  percents.expect({0.7, 0.3});
  non_uniforms.expect(test::non_uniform_probabilities(31, 10, 99, 17));
}

}  // namespace
}  // namespace palimpsest::experiments
