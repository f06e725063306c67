// Checks a history: the rules of lists or of registers, then cycles.
#pragma once

#include <cstdint>
#include <string>

#include "tests/isolation/anomaly.h"
#include "tests/isolation/history.h"

namespace palimpsest::isolation {

struct Verdict {
  Findings findings{};
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
  std::uint64_t edges = 0;
};

/// Looks for everything; for G2-item if the level is serializable.
[[nodiscard]] Verdict check_history(const History& history, Level level);

/// A readable report; one line if nothing was found.
[[nodiscard]] std::string text_of(const Verdict& verdict, Level level);

}  // namespace palimpsest::isolation
