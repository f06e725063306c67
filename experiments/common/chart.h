// A series of numbers as a text chart, for the throughput of a run by second.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace palimpsest::experiments {

struct ChartSize {
  std::size_t columns = 60;  ///< at least 1; with more values a column is the mean of several
  std::size_t rows = 8;      ///< at least 1
};

/// Bars from 0 up to the largest value, in eighths of a row, with `title` above them and the time
/// below: `values` are one for each `seconds_each`. Empty without values.
[[nodiscard]] std::string chart(std::string_view title, std::span<const double> values,
                                double seconds_each, const ChartSize& size = {});

}  // namespace palimpsest::experiments
