// The options of a run of a transactional workload: validates the flags as typed, or refuses them
// clearly.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/common/flag_checks.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments::oltp {

/// A flag of one workload only, with one of a few named values. It says how transactions are run;
/// the loaded data does not depend on it.
struct WorkloadFlag {
  std::string name;                 ///< "keys"
  std::vector<std::string> values;  ///< possible ones; the first is the default
};

/// Values of such flags, by the flags' names.
using WorkloadOptions = std::map<std::string, std::string, std::less<>>;

/// Facts about a workload that its options depend on.
struct WorkloadTraits {
  std::string name;        ///< "tpcc"
  std::string label;       ///< of its results: "TPC-C-like, no think time"
  std::string scale_flag;  ///< "warehouses"
  std::int64_t scale_max = 1;
  std::vector<WorkloadFlag> flags{};  ///< its own ones, besides that of the scale
};

/// Flags as they were typed. The initial values are the flags' defaults; empty texts are "not
/// given".
struct FlagValues {
  std::string engine = "palimpsest";
  std::string path;
  std::int64_t memory_mib = 1024;
  std::int64_t threads = 1;
  double seconds = 10;
  double warmup = 2;
  std::string isolation;
  std::string durability;
  std::string write_conflicts = "on";
  std::string versions = "on";
  double rate = 0;
  bool long_reader = false;
  double reader_turns = 0;
  std::int64_t sample_ms = 100;
  std::string json;
  std::string series;
  bool check = false;
  std::int64_t seed = 1;
  std::int64_t scale = 10;      ///< of the flag that WorkloadTraits name
  WorkloadOptions of_workload;  ///< of WorkloadTraits::flags; absent: not given
  GivenFlags given;             ///< names of the flags given on the command line
};

/// A valid run.
struct Options {
  std::string engine;
  std::filesystem::path path;
  std::uint64_t memory_bytes = 0;
  std::uint32_t threads = 0;
  double seconds = 0;  ///< 0: nothing is run; the database is loaded, and checked if asked
  double warmup_seconds = 0;
  Isolation isolation = Isolation::none;
  Durability durability = Durability::async;
  std::optional<bool> write_conflicts;  ///< nothing: the engine has no such switch
  std::optional<bool> versions;         ///< likewise
  std::optional<double> rate;  ///< transactions that arrive each second; nothing: closed loop
  bool long_reader = false;    ///< a transaction that reads is open all the time (long_reader.h)
  std::optional<double> reader_turns;  ///< or only every other so many seconds (reader_turns.h)
  std::chrono::milliseconds sample{};  ///< length of an interval of the series
  std::string json_file;               ///< empty: none; "-": standard output
  std::string series_file;             ///< empty: none
  bool check = false;
  std::uint64_t seed = 0;
  std::uint64_t scale = 0;
  WorkloadOptions of_workload;  ///< a value for each of WorkloadTraits::flags
};

/// Throws UsageError for values out of range, unknown names, features that the engine lacks, and
/// flags without effect.
[[nodiscard]] Options make_options(const FlagValues& flags, const WorkloadTraits& workload,
                                   const StoreTraits& engine);

}  // namespace palimpsest::experiments::oltp
