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
#include "experiments/tables/fixed_text.h"
#include "experiments/tables/random.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// Uniform in [low, high], both included.
[[nodiscard]] inline Cents cents_between(Random& random, Cents low, Cents high) noexcept {
  PALIMPSEST_DEBUG_CHECK(low <= high, "cents_between with low above high");
  return low + static_cast<Cents>(random.below(static_cast<std::uint64_t>(high - low) + 1));
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

/// The constants of the initial population with this seed.
[[nodiscard]] NonUniformConstants constants_of_load(std::uint64_t seed) noexcept;

/// The constants of a run on a population made with `load`: those for last names differ as clause
/// 2.1.6.1 requires, so that a run's popular names are not those of the population.
[[nodiscard]] NonUniformConstants constants_of_run(std::uint64_t seed,
                                                   const NonUniformConstants& load) noexcept;

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

/// Four digits and "11111" (clause 4.3.2.7).
[[nodiscard]] FixedText<9> random_zip(Random& random) noexcept;

/// I_DATA and S_DATA: 26 to 50 letters and digits, with "ORIGINAL" somewhere among them if wanted
/// (clause 4.3.3.1).
[[nodiscard]] FixedText<50> random_data(Random& random, bool original) noexcept;

inline constexpr std::string_view kOriginal = "ORIGINAL";

}  // namespace palimpsest::experiments::tpcc
