#include "experiments/files/load_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>

#include "experiments/common/flag_checks.h"
#include "experiments/common/process_stats.h"
#include "experiments/common/record_key.h"
#include "experiments/files/stored_line.h"
#include "experiments/tpch/schemas.h"
#include "tools/load/chunk_reader.h"
#include "tools/load/parse_pipeline.h"

namespace palimpsest::experiments::files {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check_paths(const LoadOptions& options) {
  if (!std::filesystem::is_regular_file(options.input)) {
    throw UsageError(fmt::format("--input={}: the file does not exist", options.input.string()));
  }
  if (std::filesystem::exists(options.path) && !std::filesystem::is_empty(options.path)) {
    throw UsageError(
        fmt::format("--path={}: a load needs an empty directory", options.path.string()));
  }
}

/// Makes lines as they are stored, and adds them up.
class LineCoder : public load::RowCoder {
 public:
  explicit LineCoder(Content& content) : content_(content) {}

  EncodedRow row_of(std::span<const Value> values) override {
    see(content_, values);
    line_.set(values);
    return EncodedRow::of(line_.key(), line_.value());
  }

 private:
  Content& content_;
  StoredLine line_;
};

/// Puts the rows of the file into the engine; returns their sums.
Content put_rows(const std::filesystem::path& input, BulkStore& engine) {
  const TableSchema table = tpch::schema_of(tpch::TableId::lineitem);
  const load::Dialect dialect = load::Dialect::of(load::Format::csv);
  std::atomic<std::uint64_t> taken = 0;
  load::ChunkReader reader({input.string()}, dialect, taken);
  const load::ColumnPlanner planner(table, dialect, load::Header::off, {});
  std::deque<Content> contents;  // one for each thread
  load::ParsePipeline pipeline(reader, planner, table, dialect,
                               {.threads = std::max(1U, std::thread::hardware_concurrency())}, [&] {
                                 return std::make_unique<LineCoder>(contents.emplace_back());
                               });
  while (const std::optional<load::RowBatch> batch = pipeline.next()) {
    for (const load::BatchRecord& record : batch->records) {
      if (record.fault != load::BatchRecord::kNone) {
        throw DamagedRecord(fmt::format("{}:{}: {}", input.string(), record.line,
                                        batch->faults[record.fault].reason));
      }
      const EncodedRow row = batch->row(record);
      engine.put(row.key, row.bytes);
    }
  }
  return std::accumulate(contents.begin(), contents.end(), Content());
}

void verify(const Content& expected, BulkStore& engine) {
  Content found;
  std::string last;
  engine.visit([&](ByteView key, ByteView value) {
    if (found.rows != 0 && key <= last) {
      throw DamagedRecord("keys do not ascend");
    }
    last = key;
    see(found, key, value);
    return true;
  });
  if (found != expected) {
    throw DamagedRecord(fmt::format("{} rows were loaded, but {} were found, or they differ",
                                    expected.rows, found.rows));
  }
}

}  // namespace

LoadResult run_load(const LoadOptions& options, const BulkEntry& entry) {
  check_paths(options);
  std::filesystem::create_directories(options.path);
  load::keep_freed_memory();
  const BulkSettings settings{.directory = options.path,
                              .memory_bytes = options.memory_bytes,
                              .sorted = options.sorted,
                              .restartable = true};
  LoadResult result;
  result.input_bytes = std::filesystem::file_size(options.input);
  {
    bulk::MemorySampler sampler({});
    const Clock::time_point begin = Clock::now();
    const std::unique_ptr<BulkStore> engine = entry.open(settings);
    result.description = engine->description();
    result.content = put_rows(options.input, *engine);
    engine->make_durable();
    result.seconds = seconds_since(begin);
    engine->settle();
    engine->close();
    result.settled_seconds = seconds_since(begin);
    result.memory_max = sampler.maxima();
  }
  result.data_bytes = occupied_bytes(options.path);
  const std::unique_ptr<BulkStore> engine = entry.open(settings);
  verify(result.content, *engine);
  engine->close();
  return result;
}

}  // namespace palimpsest::experiments::files
