#include "experiments/common/bench_main.h"

#include <gflags/gflags.h>

#include <cstdio>
#include <exception>

#include "experiments/common/interrupt.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

}  // namespace

int bench_main(int argc, char** argv, std::string_view name, const std::string& usage,
               void (*run)()) {
  gflags::SetUsageMessage(usage);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  try {
    if (argc > 1) {
      throw UsageError(fmt::format("{}: only flags are understood (--help)", argv[1]));
    }
    run();
    return 0;
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return kExitUsage;
  } catch (const Interrupted& interrupted) {
    fmt::print(stderr, "{}: {}\n", name, interrupted.what());
    return kExitInterrupted;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return kExitFailed;
  }
}

GivenFlags given_flags() {
  GivenFlags given;
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  for (const gflags::CommandLineFlagInfo& flag : all) {
    if (!flag.is_default) {
      given.insert(flag.name);
    }
  }
  return given;
}

void print_progress(std::string_view line) {
  fmt::print(stderr, "{}\n", line);
}

void print_result(const std::string& json_file, const std::string& summary,
                  FunctionRef<std::string()> json) {
  const bool to_stdout = json_file == "-";
  fmt::print(to_stdout ? stderr : stdout, "{}", summary);
  if (to_stdout) {
    fmt::print("{}", json());
  } else if (!json_file.empty()) {
    write_file(json_file, json());
  }
}

}  // namespace palimpsest::experiments
