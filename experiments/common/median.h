// The median of some values.
//
// Thread-safety: a pure function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace palimpsest::experiments {

/// For an even number the mean of the two middle values; 0 for none.
[[nodiscard]] inline double median_of(std::vector<double> values) {
  if (values.empty()) {
    return 0.0;
  }
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace palimpsest::experiments
