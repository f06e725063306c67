// The counts of an interval of a run: transactions, and their cost.
//
// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/common/process_stats.h"
#include "experiments/engines/store.h"
#include "experiments/oltp/tally.h"

namespace palimpsest::experiments::oltp {

/// All counters at one moment.
struct Moment {
  double seconds = 0;  ///< since the run began
  Tally tally;
  StoreCounts store;
  ProcessStats process;
};

/// The time between two moments. Counters are of the interval, all else is of its end.
struct Interval {
  double seconds = 0;
  Tally tally;
  StoreCounts store;
  ProcessStats process;

  [[nodiscard]] double per_second(std::uint64_t count) const noexcept {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  }
  [[nodiscard]] double commits_per_second() const noexcept {
    return per_second(tally.all_commits());
  }
};

[[nodiscard]] Interval between(const Moment& from, const Moment& to);

/// Of a histogram of nanoseconds.
struct Quantiles {
  std::uint64_t p50_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
  std::uint64_t max_ns = 0;
};
[[nodiscard]] Quantiles quantiles_of(const Histogram& latency_ns);

/// An interval as a series keeps it: no histograms.
struct SeriesRow {
  explicit SeriesRow(double end_seconds, const Interval& interval);

  double end_seconds;  ///< since the measured time began
  Interval interval;   ///< its tally has no histograms any more
  std::vector<Quantiles> latency;
};

/// The maxima over several moments.
struct Maxima {
  std::optional<std::uint64_t> version_bytes;
  std::optional<std::uint64_t> mapping_table_bytes;
  std::optional<std::uint64_t> orphan_tables;
  std::uint64_t rss_bytes = 0;

  void add(const Moment& moment) noexcept;
};

}  // namespace palimpsest::experiments::oltp
