// Random values as the specifications of TPC-C and TATP require: numbers, non-uniform numbers,
// texts.
//
// All draw from a generator of the caller's: the same seed gives the same values everywhere.
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/random.h"
#include "experiments/tables/columns.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments {

/// Uniform in [low, high], both included.
[[nodiscard]] inline Number number_between(Random& random, Number low, Number high) noexcept {
  PALIMPSEST_DEBUG_CHECK(low <= high, "number_between with low above high");
  return low + static_cast<Number>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

/// True in `percent` of 100 calls on average.
[[nodiscard]] inline bool percent_of(Random& random, Number percent) noexcept {
  return number_between(random, 1, 100) <= percent;
}

/// NURand(A, low, high) with the constant C (TPC-C, clause 2.1.6).
[[nodiscard]] inline Number non_uniform(Random& random, Number a, Number low, Number high,
                                        Number c) noexcept {
  const Number mixed = number_between(random, 0, a) | number_between(random, low, high);
  return (mixed + c) % (high - low + 1) + low;
}

/// Uniform letters and digits of ASCII.
void fill_alphanumeric(Random& random, std::span<char> out) noexcept;
void fill_digits(Random& random, std::span<char> out) noexcept;

/// Letters and digits, from `min_bytes` to `max_bytes` of them (TPC-C, clause 4.3.2.2).
template <std::size_t kCapacity>
[[nodiscard]] FixedText<kCapacity> random_text(Random& random, Number min_bytes,
                                               Number max_bytes) noexcept {
  check(static_cast<std::size_t>(max_bytes) <= kCapacity, "texts longer than their column");
  std::array<char, kCapacity> bytes;
  const auto size = static_cast<std::size_t>(number_between(random, min_bytes, max_bytes));
  fill_alphanumeric(random, std::span(bytes.data(), size));
  return FixedText<kCapacity>({bytes.data(), size});
}

void fill_capitals(Random& random, std::span<char> out) noexcept;

/// kCapacity capital letters of ASCII.
template <std::size_t kCapacity>
[[nodiscard]] FixedText<kCapacity> random_capitals(Random& random) noexcept {
  std::array<char, kCapacity> bytes;
  fill_capitals(random, bytes);
  return FixedText<kCapacity>({bytes.data(), bytes.size()});
}

/// kCapacity digits (TPC-C, clause 4.3.2.2).
template <std::size_t kCapacity>
[[nodiscard]] FixedText<kCapacity> random_digits(Random& random) noexcept {
  std::array<char, kCapacity> bytes;
  fill_digits(random, bytes);
  return FixedText<kCapacity>({bytes.data(), bytes.size()});
}

}  // namespace palimpsest::experiments
