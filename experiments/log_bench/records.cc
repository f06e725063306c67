#include "experiments/log_bench/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.h"
#include "experiments/common/mix.h"

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15U;

/// The inverse of an odd number modulo 2^64: each step doubles the number of correct bits.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
  std::uint64_t result = odd;
  for (int step = 0; step < 5; ++step) {
    result *= 2 - odd * result;
  }
  return result;
}
static_assert(kMultiplier * inverse(kMultiplier) == 1);

constexpr unsigned kHalf = 32;

constexpr std::uint64_t scrambled(std::uint64_t word) noexcept {
  word = (word ^ (word >> kHalf)) * kMultiplier;
  return (word ^ (word >> kHalf)) * kMultiplier;
}

constexpr std::uint64_t unscrambled(std::uint64_t word) noexcept {
  word *= inverse(kMultiplier);
  word = (word ^ (word >> kHalf)) * inverse(kMultiplier);
  return word ^ (word >> kHalf);
}
static_assert(unscrambled(scrambled(0x123456789abcdef0U)) == 0x123456789abcdef0U);

}  // namespace

Field field_of(UpdateMark mark) noexcept {
  return std::bit_cast<Field>(scrambled(std::uint64_t{mark.worker} << kHalf | mark.sequence));
}

UpdateMark mark_of(const Field& field) noexcept {
  const std::uint64_t word = unscrambled(std::bit_cast<std::uint64_t>(field));
  return {.worker = static_cast<std::uint32_t>(word >> kHalf),
          .sequence = static_cast<std::uint32_t>(word)};
}

Value fresh_value(std::uint64_t record) noexcept {
  Value value;
  Random filler(mix64(record ^ 0x6c6f675f62656e63U));
  for (std::size_t at = 0; at < kValueBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = filler();
    std::memcpy(value.data() + at, &word, sizeof word);
  }
  const Field field = field_of({});
  std::copy(field.begin(), field.end(), value.begin() + kFieldOffset);
  return value;
}

UpdateMark verified_mark(std::uint64_t record, const Value& value) {
  Field field;
  std::copy_n(value.begin() + kFieldOffset, kFieldBytes, field.begin());
  Value expected = fresh_value(record);
  std::copy(field.begin(), field.end(), expected.begin() + kFieldOffset);
  if (expected != value) {
    throw DamagedRecord(
        fmt::format("record {}: bytes outside of all updates have changed", record));
  }
  return mark_of(field);
}

}  // namespace palimpsest::experiments
