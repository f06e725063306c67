#include "experiments/common/flag_checks.h"

#include <cmath>

namespace palimpsest::experiments {
namespace {

constexpr double kSecondsMax = 1e6;

}  // namespace

std::int64_t in_range(std::string_view flag, std::int64_t value, std::int64_t min,
                      std::int64_t max) {
  if (value < min || value > max) {
    throw UsageError(fmt::format("--{}={}: must be from {} to {}", flag, value, min, max));
  }
  return value;
}

double seconds_in_range(std::string_view flag, double value, bool zero_allowed) {
  const bool fits = zero_allowed ? value >= 0 : value > 0;
  if (!std::isfinite(value) || !fits || value > kSecondsMax) {
    throw UsageError(fmt::format("--{}={}: must be {} 0 and at most {}", flag, value,
                                 zero_allowed ? "at least" : "more than", kSecondsMax));
  }
  return value;
}

bool parse_switch(std::string_view flag, const std::string& text) {
  if (text != "on" && text != "off") {
    throw UsageError(fmt::format("--{}={}: must be on or off", flag, text));
  }
  return text == "on";
}

void MeaningCheck::require(bool meaningful, std::initializer_list<const char*> names,
                           std::string_view reason) const {
  for (const char* name : names) {
    if (!meaningful && given_.contains(name)) {
      throw UsageError(fmt::format("--{} has no effect {}", name, reason));
    }
  }
}

}  // namespace palimpsest::experiments
