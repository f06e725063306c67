// The random values of TPC-C (clauses 2.1.6, 4.3.2): non-uniform numbers and their constants, last
// names, texts.
//
// All draw from a generator of the caller's: the same seed gives the same values everywhere.
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/random.h"
#include "experiments/tpcc/fixed_text.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// Uniform in [low, high], both included.
[[nodiscard]] inline Number number_between(Random& random, Number low, Number high) noexcept {
  debug_check(low <= high, "number_between with low above high");
  return low + static_cast<Number>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

/// Uniform in [low, high], both included.
[[nodiscard]] inline Cents cents_between(Random& random, Cents low, Cents high) noexcept {
  debug_check(low <= high, "cents_between with low above high");
  return low + static_cast<Cents>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

/// True in `percent` of 100 calls on average.
[[nodiscard]] inline bool percent_of(Random& random, Number percent) noexcept {
  return number_between(random, 1, 100) <= percent;
}

/// The largest values A of the function NURand for each field it is used for (clause 2.1.6).
inline constexpr Number kNonUniformLastName = 255;
inline constexpr Number kNonUniformCustomer = 1023;
inline constexpr Number kNonUniformItem = 8191;

/// The constants C of NURand (clause 2.1.6): one for each field, the same for all of a run.
struct NonUniformConstants {
  Number last_name = 0;
  Number customer = 0;
  Number item = 0;
};

/// What the initial population with this seed uses.
[[nodiscard]] NonUniformConstants constants_of_load(std::uint64_t seed) noexcept;

/// What a run uses on a population made with `load`: the constants for last names differ as clause
/// 2.1.6.1 asks for, so that a run's popular names are not those of the population.
[[nodiscard]] NonUniformConstants constants_of_run(std::uint64_t seed,
                                                   const NonUniformConstants& load) noexcept;

/// NURand(A, low, high) with the constant C (clause 2.1.6).
[[nodiscard]] inline Number non_uniform(Random& random, Number a, Number low, Number high,
                                        Number c) noexcept {
  const Number mixed = number_between(random, 0, a) | number_between(random, low, high);
  return (mixed + c) % (high - low + 1) + low;
}

[[nodiscard]] inline Number random_customer(Random& random,
                                            const NonUniformConstants& constants) noexcept {
  return non_uniform(random, kNonUniformCustomer, 1, kCustomers, constants.customer);
}

[[nodiscard]] inline Number random_item(Random& random,
                                        const NonUniformConstants& constants) noexcept {
  return non_uniform(random, kNonUniformItem, 1, kItems, constants.item);
}

inline constexpr Number kLastNames = 1'000;

/// Of [0, kLastNames).
[[nodiscard]] inline Number random_last_name(Random& random,
                                             const NonUniformConstants& constants) noexcept {
  return non_uniform(random, kNonUniformLastName, 0, kLastNames - 1, constants.last_name);
}

/// The name with that number of [0, kLastNames): a syllable for each digit (clause 4.3.2.3).
[[nodiscard]] FixedText<16> last_name(Number number) noexcept;

/// Uniform letters and digits of ASCII.
void fill_alphanumeric(Random& random, std::span<char> out) noexcept;
void fill_digits(Random& random, std::span<char> out) noexcept;

/// Letters and digits, from `min_bytes` to `max_bytes` of them (clause 4.3.2.2).
template <std::size_t kCapacity>
[[nodiscard]] FixedText<kCapacity> random_text(Random& random, Number min_bytes,
                                               Number max_bytes) noexcept {
  check(static_cast<std::size_t>(max_bytes) <= kCapacity, "texts longer than their column");
  std::array<char, kCapacity> bytes;
  const auto size = static_cast<std::size_t>(number_between(random, min_bytes, max_bytes));
  fill_alphanumeric(random, std::span(bytes.data(), size));
  return FixedText<kCapacity>({bytes.data(), size});
}

/// kCapacity digits (clause 4.3.2.2).
template <std::size_t kCapacity>
[[nodiscard]] FixedText<kCapacity> random_digits(Random& random) noexcept {
  std::array<char, kCapacity> bytes;
  fill_digits(random, bytes);
  return FixedText<kCapacity>({bytes.data(), bytes.size()});
}

/// Four digits and "11111" (clause 4.3.2.7).
[[nodiscard]] FixedText<9> random_zip(Random& random) noexcept;

/// I_DATA and S_DATA: 26 to 50 letters and digits, with "ORIGINAL" somewhere among them if wanted
/// (clause 4.3.3.1).
[[nodiscard]] FixedText<50> random_data(Random& random, bool original) noexcept;

inline constexpr std::string_view kOriginal = "ORIGINAL";

}  // namespace palimpsest::experiments::tpcc
