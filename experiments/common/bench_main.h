// Code shared by the main functions of the benchmarks: flags, engines by name, destinations of
// results, exit codes.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/function_ref.h"

#include "experiments/common/flag_checks.h"

namespace palimpsest::experiments {

/// Parses the flags and calls run(). Returns the exit code: 0, 1 after an error, 2 for invalid
/// flags, 130 if Interrupted was thrown; the message goes to standard error, beginning with the
/// benchmark's name.
[[nodiscard]] int bench_main(int argc, char** argv, std::string_view name, const std::string& usage,
                             void (*run)());

/// Flags given on the command line.
[[nodiscard]] GivenFlags given_flags();

/// A line of progress, on standard error.
void print_progress(std::string_view line);

/// Prints the summary, and writes json() to the file if there is one; "-" is standard output, and
/// the summary goes to standard error then.
void print_result(const std::string& json_file, const std::string& summary,
                  FunctionRef<std::string()> json);

/// The engine that --engine names; UsageError if there is none.
template <class Entry>
[[nodiscard]] Entry find_engine(const std::vector<Entry>& engines, const std::string& name) {
  std::string known;
  for (const Entry& entry : engines) {
    if (entry.traits.name == name) {
      return entry;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.traits.name);
  }
  throw UsageError(fmt::format("--engine={}: this binary knows {}", name, known));
}

}  // namespace palimpsest::experiments
