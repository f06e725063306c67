// tpch_gen: the tables of TPC-H as .tbl files, which `palimpsest load` reads.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "experiments/common/bench_main.h"
#include "experiments/common/progress_display.h"
#include "experiments/tpch/generate.h"
#include "experiments/tpch/schemas.h"

DEFINE_string(path, "", "directory of the files; created if it does not exist");
DEFINE_double(scale_factor, 1,
              "scale factor, about a gigabyte each; fractions from 0.01 are possible");
DEFINE_int64(threads, 0, "number of threads that make rows; 0: one for each processor");
DEFINE_string(tables, "", "names of tables, separated by commas; default: all eight");
DEFINE_int64(seed, 1, "seed of all rows");
DEFINE_string(print_schema, "",
              "print this table's schema for `palimpsest load`, and nothing else");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::tpch;

std::vector<TableId> tables_of_flag() {
  const GivenFlags given = given_flags();
  if (!given.contains("tables")) {
    return {kTables.begin(), kTables.end()};
  }
  std::vector<TableId> tables;
  std::string_view rest = FLAGS_tables;
  for (bool more = true; more;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const TableId table = parse_name("tables", std::string(rest.substr(0, comma)), kTables);
    if (std::find(tables.begin(), tables.end(), table) != tables.end()) {
      throw UsageError(fmt::format("--tables={}: {} is named twice", FLAGS_tables, name_of(table)));
    }
    tables.push_back(table);
    more = comma < rest.size();
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return tables;
}

GenerateOptions options_of_flags() {
  constexpr std::int64_t kThreadsMax = 1024;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the files");
  }
  const std::int64_t threads = in_range("threads", FLAGS_threads, 0, kThreadsMax);
  return {.directory = FLAGS_path,
          .scale = Scale(FLAGS_scale_factor),
          .seed = static_cast<std::uint64_t>(FLAGS_seed),
          .threads = threads == 0 ? std::max(1U, std::thread::hardware_concurrency())
                                  : static_cast<std::uint32_t>(threads),
          .tables = tables_of_flag()};
}

void run() {
  if (!FLAGS_print_schema.empty()) {
    const GivenFlags given = given_flags();
    MeaningCheck(given).require(false, {"path", "scale_factor", "threads", "tables", "seed"},
                                "with --print_schema");
    fmt::print("{}\n", schema_text(parse_name("print_schema", FLAGS_print_schema, kTables)));
    return;
  }
  ProgressDisplay display(stderr);
  const Generated generated = generate(options_of_flags(), display);
  fmt::print("{} MB in {:.1f} s\n", generated.bytes / 1'000'000, generated.seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "tpch_gen", "make TPC-H's tables; see experiments/tpch/README.md",
                    run);
}
