#include "experiments/oltp/interval.h"

#include <algorithm>

namespace palimpsest::experiments::oltp {
namespace {

using Count = std::optional<std::uint64_t>;

Count difference(const Count& to, const Count& from) {
  return to && from ? Count(*to - *from) : std::nullopt;
}

Interval without_histograms(Interval interval) {
  interval.tally.latency_ns.clear();
  interval.tally.latency_ns.shrink_to_fit();
  return interval;
}

void raise(Count& most, const Count& now) noexcept {
  if (now) {
    most = std::max(most.value_or(0), *now);
  }
}

}  // namespace

Interval between(const Moment& from, const Moment& to) {
  Interval interval{.seconds = to.seconds - from.seconds,
                    .tally = to.tally.since(from.tally),
                    .store = to.store,
                    .process = to.process};
  interval.store.page_reads = difference(to.store.page_reads, from.store.page_reads);
  interval.store.page_writes = difference(to.store.page_writes, from.store.page_writes);
  interval.store.log_bytes = difference(to.store.log_bytes, from.store.log_bytes);
  interval.process.read_bytes = to.process.read_bytes - from.process.read_bytes;
  interval.process.write_bytes = to.process.write_bytes - from.process.write_bytes;
  return interval;
}

Quantiles quantiles_of(const Histogram& latency_ns) {
  return {.p50_ns = latency_ns.quantile(0.5),
          .p99_ns = latency_ns.quantile(0.99),
          .p999_ns = latency_ns.quantile(0.999),
          .max_ns = latency_ns.max()};
}

SeriesRow::SeriesRow(double end, const Interval& of)
    : end_seconds(end), interval(without_histograms(of)) {
  latency.reserve(of.tally.latency_ns.size());
  for (const Histogram& latency_ns : of.tally.latency_ns) {
    latency.push_back(quantiles_of(latency_ns));
  }
}

void Maxima::add(const Moment& moment) noexcept {
  raise(version_bytes, moment.store.version_bytes);
  raise(mapping_table_bytes, moment.store.mapping_table_bytes);
  raise(orphan_tables, moment.store.orphan_tables);
  rss_bytes = std::max(rss_bytes, moment.process.resident_bytes);
}

}  // namespace palimpsest::experiments::oltp
