// Histories written by hand, for tests of the checker.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/isolation/history_checker.h"

namespace palimpsest::isolation {

constexpr auto kInvoke = experiments::history::EventType::invoke;
constexpr auto kOk = experiments::history::EventType::ok;
constexpr auto kFail = experiments::history::EventType::fail;
constexpr auto kInfo = experiments::history::EventType::info;

/// An event of a transaction, which is the only one of its process.
struct PlantedEvent {
  experiments::history::EventType type;
  std::int64_t process;
  std::string_view operations;  ///< [["r",1,[1,2]],["append",1,3]]
};

[[nodiscard]] inline History history_of(const std::vector<PlantedEvent>& events) {
  History history;
  std::size_t index = 0;
  for (const PlantedEvent& planted : events) {
    const std::string line = fmt::format(R"({{"type":"{}","process":{},"index":{},"value":{}}})",
                                         experiments::history::name_of(planted.type),
                                         planted.process, index++, planted.operations);
    history.add(experiments::history::parse_json(line));
  }
  history.finish();
  return history;
}

/// A transaction.
struct Planted {
  experiments::history::EventType end;
  std::string_view operations;
};

/// All of them are concurrent: they begin one after the other, then end one after the other.
[[nodiscard]] inline History concurrent(const std::vector<Planted>& transactions) {
  std::vector<PlantedEvent> events;
  events.reserve(2 * transactions.size());
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    events.push_back({kInvoke, static_cast<std::int64_t>(i), transactions[i].operations});
  }
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    events.push_back(
        {transactions[i].end, static_cast<std::int64_t>(i), transactions[i].operations});
  }
  return history_of(events);
}

/// Each begins when the one before has ended.
[[nodiscard]] inline History serial(const std::vector<Planted>& transactions) {
  std::vector<PlantedEvent> events;
  events.reserve(2 * transactions.size());
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    const auto process = static_cast<std::int64_t>(i);
    events.push_back({kInvoke, process, transactions[i].operations});
    events.push_back({transactions[i].end, process, transactions[i].operations});
  }
  return history_of(events);
}

/// The anomalies found, forbidden or not.
[[nodiscard]] inline std::set<Anomaly> found_in(const History& history,
                                                Level level = Level::serializable) {
  const Verdict verdict = check_history(history, level);
  std::set<Anomaly> found;
  for (std::size_t i = 0; i < kAnomalies; ++i) {
    if (verdict.findings.count(static_cast<Anomaly>(i)) != 0) {
      found.insert(static_cast<Anomaly>(i));
    }
  }
  return found;
}

}  // namespace palimpsest::isolation
