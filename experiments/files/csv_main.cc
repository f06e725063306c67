// lineitem_csv: TPC-H's lineitem as a CSV file that every engine loads.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <array>
#include <nlohmann/json.hpp>

#include "experiments/common/bench_main.h"
#include "experiments/common/output_files.h"
#include "experiments/files/csv_lines.h"

DEFINE_string(path, "", "the file, which must not exist yet");
DEFINE_double(scale_factor, 0.01, "scale factor of TPC-H; 1 makes 750 MB");
DEFINE_string(order, "sorted", "order of the lines: sorted by their keys, or shuffled");
DEFINE_int64(seed, 1, "seed of all rows, and of the shuffled order");
DEFINE_string(json, "", "file for the size of the lines as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::files;

void run() {
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the file for the lines");
  }
  if (std::filesystem::exists(FLAGS_path)) {
    throw UsageError(fmt::format("--path={}: exists already", FLAGS_path));
  }
  const LineOrder order =
      parse_name("order", FLAGS_order, std::array{LineOrder::sorted, LineOrder::shuffled});
  check_output_files(FLAGS_path, {{"json", FLAGS_json}});
  const CsvLines lines(static_cast<std::uint64_t>(FLAGS_seed), tpch::Scale(FLAGS_scale_factor));
  lines.write(FLAGS_path, order);
  const Content& content = lines.content();
  print_result(
      FLAGS_json,
      fmt::format("{} {} lines, {} MB\n", content.rows, name_of(order), lines.bytes() / 1'000'000),
      [&] {
        return nlohmann::json({{"schema_version", 1},
                               {"bytes", lines.bytes()},
                               {"content",
                                {{"rows", content.rows},
                                 {"order_keys", content.order_keys},
                                 {"price_cents", content.price_cents},
                                 {"comment_bytes", content.comment_bytes}}}})
                   .dump(2) +
               "\n";
      });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "lineitem_csv",
                    "make a CSV file of TPC-H's lineitem; see experiments/files/README.md", run);
}
