#include "experiments/tpcc/random.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "experiments/common/mix.h"

namespace palimpsest::experiments::tpcc {
namespace {

/// Whether a run may use `run` on names made with `load` (clause 2.1.6.1).
bool may_follow(Number run, Number load) noexcept {
  const Number delta = std::abs(run - load);
  return delta >= 65 && delta <= 119 && delta != 96 && delta != 112;
}

NonUniformConstants draw_constants(Random& random) noexcept {
  return {.last_name = number_between(random, 0, kNonUniformLastName),
          .customer = number_between(random, 0, kNonUniformCustomer),
          .item = number_between(random, 0, kNonUniformItem)};
}

}  // namespace

NonUniformConstants constants_of_load(std::uint64_t seed) noexcept {
  Random random(mix64(seed ^ 0x6c6f6164U));
  return draw_constants(random);
}

NonUniformConstants constants_of_run(std::uint64_t seed, const NonUniformConstants& load) noexcept {
  Random random(mix64(seed ^ 0x72756eU));
  NonUniformConstants run = draw_constants(random);
  while (!may_follow(run.last_name, load.last_name)) {
    run.last_name = number_between(random, 0, kNonUniformLastName);
  }
  return run;
}

FixedText<16> last_name(Number number) noexcept {
  static constexpr std::array<std::string_view, 10> kSyllables = {
      "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
  check(number >= 0 && number < kLastNames, "no such last name");
  std::array<char, 16> bytes;
  std::size_t size = 0;
  for (const Number digit : {number / 100, number / 10 % 10, number % 10}) {
    const std::string_view syllable = kSyllables[static_cast<std::size_t>(digit)];
    size += syllable.copy(bytes.data() + size, bytes.size() - size);
  }
  return FixedText<16>({bytes.data(), size});
}

FixedText<9> random_zip(Random& random) noexcept {
  std::array<char, 9> bytes;
  bytes.fill('1');
  fill_digits(random, std::span(bytes.data(), 4));
  return FixedText<9>({bytes.data(), bytes.size()});
}

FixedText<50> random_data(Random& random, bool original) noexcept {
  std::array<char, 50> bytes;
  const auto size = static_cast<std::size_t>(number_between(random, 26, 50));
  fill_alphanumeric(random, std::span(bytes.data(), size));
  if (original) {
    kOriginal.copy(bytes.data() + random.below(size - kOriginal.size() + 1), kOriginal.size());
  }
  return FixedText<50>({bytes.data(), size});
}

}  // namespace palimpsest::experiments::tpcc
