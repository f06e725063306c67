// The random values of TATP: subscribers, uniform or not, and their numbers.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "experiments/tables/random.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

/// How the subscribers of transactions are chosen.
enum class Choice : std::uint8_t {
  uniform,
  non_uniform,  ///< NURand, whose constant A grows with the population
};

/// Its name on the command line and in results.
[[nodiscard]] std::string_view name_of(Choice choice) noexcept;

/// SUB_NBR: the subscriber's id with leading zeros.
[[nodiscard]] PhoneNumber number_of(Number subscriber) noexcept;

/// A of NURand for that many subscribers: the specification's steps.
[[nodiscard]] constexpr Number non_uniform_constant(Number subscribers) noexcept {
  if (subscribers <= 1'000'000) {
    return 65'535;
  }
  return subscribers <= 10'000'000 ? 1'048'575 : 2'097'151;
}

/// A subscriber of [1, subscribers].
[[nodiscard]] inline Number random_subscriber(Random& random, Choice choice,
                                              Number subscribers) noexcept {
  if (choice == Choice::uniform) {
    return number_between(random, 1, subscribers);
  }
  return non_uniform(random, non_uniform_constant(subscribers), 1, subscribers, 0);
}

/// Uniform in [low, high], both included.
[[nodiscard]] inline SmallNumber small_between(Random& random, Number low, Number high) noexcept {
  return static_cast<SmallNumber>(number_between(random, low, high));
}

[[nodiscard]] inline SmallNumber random_type(Random& random) noexcept {
  return small_between(random, 1, kTypes);
}

[[nodiscard]] inline SmallNumber random_start_time(Random& random) noexcept {
  return static_cast<SmallNumber>(kHoursBetween * number_between(random, 0, kStartTimes - 1));
}

/// Of [1, 2^32 - 1].
[[nodiscard]] inline Location random_location(Random& random) noexcept {
  return static_cast<Location>(random.between(1, 0xffffffffU));
}

}  // namespace palimpsest::experiments::tatp
