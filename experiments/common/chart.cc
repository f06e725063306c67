#include "experiments/common/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace palimpsest::experiments {
namespace {

constexpr std::size_t kEighths = 8;
constexpr std::array<std::string_view, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                                "▅", "▆", "▇", "█"};

/// Means of neighbours, at most `columns` of them.
std::vector<double> shrink(std::span<const double> values, std::size_t columns) {
  columns = std::min(columns, values.size());
  std::vector<double> means(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t first = column * values.size() / columns;
    const std::size_t last = (column + 1) * values.size() / columns;
    const auto some = values.subspan(first, last - first);
    means[column] =
        std::accumulate(some.begin(), some.end(), 0.0) / static_cast<double>(some.size());
  }
  return means;
}

}  // namespace

std::string chart(std::string_view title, std::span<const double> values, double seconds_each,
                  const ChartSize& size) {
  check(size.columns != 0 && size.rows != 0, "a chart without room");
  if (values.empty()) {
    return "";
  }
  const std::vector<double> bars = shrink(values, size.columns);
  const double top = *std::max_element(bars.begin(), bars.end());
  const std::string top_label = fmt::format("{:.0f}", top);
  const std::size_t margin = top_label.size();
  std::string text = fmt::format("{}\n", title);
  for (std::size_t row = size.rows; row-- > 0;) {
    const bool is_top = row + 1 == size.rows;
    text += fmt::format("{:>{}} |", is_top ? top_label : (row == 0 ? "0" : ""), margin);
    for (const double bar : bars) {
      const double share = top > 0 ? std::max(bar, 0.0) / top : 0.0;
      const auto height =
          static_cast<std::size_t>(std::lround(share * static_cast<double>(size.rows * kEighths)));
      const std::size_t below = row * kEighths;
      text += kBlocks[height > below ? std::min(height - below, kEighths) : 0];
    }
    text += '\n';
  }
  const std::string end =
      fmt::format("{:.0f} s", static_cast<double>(values.size()) * seconds_each);
  return text + fmt::format("{:>{}} +{:->{}}\n{:>{}}  0{:>{}}\n", "", margin, "", bars.size(), "",
                            margin, end, std::max(bars.size(), end.size() + 2) - 1);
}

}  // namespace palimpsest::experiments
