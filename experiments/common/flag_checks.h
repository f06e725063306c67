// Checks common to the options of all benchmarks: ranges, names, flags that would have no effect.
// Each refusal is a UsageError; its message begins with the flag as it was typed.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace palimpsest::experiments {

/// The command line asks for something impossible or meaningless; the message says what and why.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Names of flags given on the command line.
using GivenFlags = std::set<std::string, std::less<>>;

/// The one of `values` whose name_of() is `text`.
template <class Enum, std::size_t kCount>
[[nodiscard]] Enum parse_name(std::string_view flag, const std::string& text,
                              const std::array<Enum, kCount>& values) {
  std::string known;
  for (const Enum value : values) {
    if (name_of(value) == text) {
      return value;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(value));
  }
  throw UsageError(fmt::format("--{}={}: unknown; one of {}", flag, text, known));
}

/// `value`, which lies in [min, max].
std::int64_t in_range(std::string_view flag, std::int64_t value, std::int64_t min,
                      std::int64_t max);

/// `value`, a finite number of seconds above 0, or from 0 on if that is allowed.
[[nodiscard]] double seconds_in_range(std::string_view flag, double value, bool zero_allowed);

/// Whether `text` is "on"; anything but "on" and "off" is refused.
[[nodiscard]] bool parse_switch(std::string_view flag, const std::string& text);

/// Refuses flags that were given and would have no effect.
class MeaningCheck {
 public:
  /// `given` outlives the check.
  explicit MeaningCheck(const GivenFlags& given) : given_(given) {}

  /// Unless `meaningful`, none of these flags was given; `reason` ends the sentence
  /// "--flag means nothing ...".
  void require(bool meaningful, std::initializer_list<const char*> names,
               std::string_view reason) const;

 private:
  const GivenFlags& given_;
};

}  // namespace palimpsest::experiments
