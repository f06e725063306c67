#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/result_json.h"
#include "experiments/oltp/report.h"

namespace palimpsest::experiments::oltp {
namespace {

/// A column: its name, with its unit, and its field of a row.
struct Field {
  std::string name;
  std::function<std::string(const SeriesRow&)> text;
};
using Fields = std::vector<Field>;

std::string text_of(const std::optional<std::uint64_t>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void add_transactions(const Workload& workload, Fields& fields) {
  fields.push_back(
      {"end_s", [](const SeriesRow& row) { return fmt::format("{:.4f}", row.end_seconds); }});
  fields.push_back({"length_s", [](const SeriesRow& row) {
                      return fmt::format("{:.4f}", row.interval.seconds);
                    }});
  fields.push_back({"commits", [](const SeriesRow& row) {
                      return fmt::format("{}", row.interval.tally.all_commits());
                    }});
  fields.push_back({"tps", [](const SeriesRow& row) {
                      return fmt::format("{:.1f}", row.interval.commits_per_second());
                    }});
  if (const auto& figure = workload.figure) {
    fields.push_back({figure->key, [type = figure->type](const SeriesRow& row) {
                        const std::uint64_t commits = row.interval.tally.commits[type];
                        return fmt::format("{:.1f}", 60 * row.interval.per_second(commits));
                      }});
  }
  fields.push_back({"aborts_by_input", [](const SeriesRow& row) {
                      return fmt::format("{}", row.interval.tally.all_rollbacks());
                    }});
  for (std::size_t i = 0; i < kConflictReasons; ++i) {
    fields.push_back(
        {fmt::format("aborts_{}", name_of(static_cast<ConflictReason>(i + 1))),
         [i](const SeriesRow& row) { return fmt::format("{}", row.interval.tally.conflicts[i]); }});
  }
}

void add_latencies(const Workload& workload, Fields& fields) {
  using Member = std::uint64_t Quantiles::*;
  static constexpr std::pair<const char*, Member> kQuantiles[] = {{"p50", &Quantiles::p50_ns},
                                                                  {"p99", &Quantiles::p99_ns},
                                                                  {"p999", &Quantiles::p999_ns},
                                                                  {"max", &Quantiles::max_ns}};
  for (std::size_t type = 0; type < workload.types.size(); ++type) {
    const std::string& name = workload.types[type];
    fields.push_back({name + "_commits", [type](const SeriesRow& row) {
                        return fmt::format("{}", row.interval.tally.commits[type]);
                      }});
    for (const auto& [quantile, member] : kQuantiles) {
      fields.push_back(
          {fmt::format("{}_{}_us", name, quantile), [type, of = member](const SeriesRow& row) {
             return fmt::format("{:.1f}", microseconds(row.latency[type].*of));
           }});
    }
  }
}

void add_costs(Fields& fields) {
  using Member = std::optional<std::uint64_t> StoreCounts::*;
  static constexpr std::pair<const char*, Member> kOfStore[] = {
      {"log_bytes", &StoreCounts::log_bytes},
      {"page_reads", &StoreCounts::page_reads},
      {"page_writes", &StoreCounts::page_writes},
      {"data_bytes", &StoreCounts::data_bytes},
      {"version_bytes", &StoreCounts::version_bytes},
      {"mapping_table_bytes", &StoreCounts::mapping_table_bytes},
      {"orphan_tables", &StoreCounts::orphan_tables}};
  for (const auto& [name, member] : kOfStore) {
    fields.push_back(
        {name, [of = member](const SeriesRow& row) { return text_of(row.interval.store.*of); }});
  }
  static constexpr std::pair<const char*, std::uint64_t ProcessStats::*> kOfProcess[] = {
      {"read_bytes", &ProcessStats::read_bytes},
      {"write_bytes", &ProcessStats::write_bytes},
      {"rss_bytes", &ProcessStats::resident_bytes}};
  for (const auto& [name, member] : kOfProcess) {
    fields.push_back({name, [of = member](const SeriesRow& row) {
                        return fmt::format("{}", row.interval.process.*of);
                      }});
  }
}

}  // namespace

std::string series_csv(const Workload& workload, const Measurement& measured) {
  Fields fields;
  add_transactions(workload, fields);
  add_latencies(workload, fields);
  add_costs(fields);
  std::string csv;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    csv += fmt::format("{}{}", i == 0 ? "" : ",", fields[i].name);
  }
  csv += '\n';
  for (const SeriesRow& row : measured.series) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      csv += fmt::format("{}{}", i == 0 ? "" : ",", fields[i].text(row));
    }
    csv += '\n';
  }
  return csv;
}

}  // namespace palimpsest::experiments::oltp
