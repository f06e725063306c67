// Measures making an index of a table with rows: seconds, log, bytes sent to the devices, memory.
//
// usage: index_bench <empty directory> [rows, default 2000000] [memory MiB, default 256]
//        [column: shuffled, ascending or text, default shuffled] [unique: 0 or 1, default 0]
// The rows have a number, a body of 50 bytes and the column: another number each, shuffled or in
// the order of the rows, or a text of it behind twelve equal letters. Before the measurement a bulk
// loads them, and a checkpoint is taken.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "palimpsest/database.h"

#include "experiments/micro/arguments.h"

namespace {

using namespace palimpsest;
using Clock = std::chrono::steady_clock;

struct Workload {
  std::int64_t rows = 2'000'000;
  std::uint64_t memory_bytes = std::uint64_t{256} << 20U;
  std::string column = "shuffled";
  bool unique = false;
};

/// A permutation of [0, rows).
std::int64_t shuffled(std::int64_t row, std::int64_t rows) {
  constexpr std::int64_t kPrime = 1'000'000'007;
  return (row * kPrime) % rows;
}

void load(Database& database, const Workload& workload) {
  const bool is_text = workload.column == "text";
  database.create_table({.name = "rows",
                         .columns = {{"id", types::int64()},
                                     {"column", is_text ? types::varchar(40) : types::int64()},
                                     {"body", types::varchar(50)}},
                         .key = {"id"}});
  Transaction bulk = database.begin({.bulk = true});
  const Table table = database.table("rows");
  const std::string body(50, 'b');
  for (std::int64_t row = 0; row < workload.rows; ++row) {
    const std::int64_t number = workload.column == "ascending" ? row : shuffled(row, workload.rows);
    const std::string text = is_text ? fmt::format("equal letter{:010}", number) : std::string();
    const Value column = is_text ? Value(std::string_view(text)) : Value(number);
    table.insert(bulk, {row, column, std::string_view(body)}).require();
  }
  bulk.commit();
}

/// In a process of its own, so that its memory is not measured.
void load_apart(const std::string& directory, const Options& options, const Workload& workload) {
  const pid_t loader = ::fork();
  if (loader == 0) {
    Database database = Database::open(directory, options);
    load(database, workload);
    database.close();
    std::_Exit(EXIT_SUCCESS);
  }
  int status = 0;
  if (loader < 0 || ::waitpid(loader, &status, 0) != loader || status != 0) {
    throw std::runtime_error("the rows could not be loaded");
  }
}

std::uint64_t resident_bytes_max() {
  rusage usage{};
  static_cast<void>(::getrusage(RUSAGE_SELF, &usage));
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10U;
}

double processor_seconds() {
  rusage usage{};
  static_cast<void>(::getrusage(RUSAGE_SELF, &usage));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void measure(const std::string& directory, const Workload& workload) {
  Options options;
  options.memory_bytes = workload.memory_bytes;
  load_apart(directory, options, workload);
  Database database = Database::open(directory, options);
  const Statistics before = database.statistics();
  const double processor_before = processor_seconds();
  const auto begin = Clock::now();
  database.create_index("rows",
                        {.name = "by_column", .columns = {"column"}, .unique = workload.unique});
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double processor = processor_seconds() - processor_before;
  const Statistics after = database.statistics();
  constexpr double kMebibyte = 1 << 20;
  const auto mebibytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kMebibyte; };
  fmt::print(
      "{} {} rows: {:.2f} s, {:.2f} s of processors, {:.1f} MiB of log, {} pages written in "
      "place, {:.0f} MiB resident at most\n",
      workload.column, workload.rows, seconds, processor,
      mebibytes(after.log_bytes - before.log_bytes), after.page_writes - before.page_writes,
      mebibytes(resident_bytes_max()));
}

Workload workload_of(const experiments::Arguments& arguments) {
  constexpr std::uint64_t kRowsMax = 1'000'000'000;
  constexpr std::uint64_t kMemoryMibMin = 8;
  constexpr std::uint64_t kMemoryMibMax = 1U << 30U;
  constexpr std::uint64_t kMemoryMib = 256;
  const Workload usual;
  arguments.check_places(5);
  const Workload workload{
      .rows = static_cast<std::int64_t>(
          arguments.number(2, "rows", 1, kRowsMax, static_cast<std::uint64_t>(usual.rows))),
      .memory_bytes = arguments.number(3, "memory MiB", kMemoryMibMin, kMemoryMibMax, kMemoryMib)
                      << 20U,
      .column = arguments.text(4, usual.column),
      .unique = arguments.number(5, "unique", 0, 1, 0) == 1};
  if (workload.column != "shuffled" && workload.column != "ascending" &&
      workload.column != "text") {
    throw std::invalid_argument(
        fmt::format("{}: the column is shuffled, ascending or text", workload.column));
  }
  return workload;
}

}  // namespace

int main(int count, char** words) {
  try {
    const experiments::Arguments arguments(count, words);
    measure(arguments.text(1), workload_of(arguments));
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr,
               "index_bench: {}\nusage: index_bench <empty directory> [rows] [memory MiB] [column] "
               "[unique]\n",
               error.what());
    return EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "index_bench: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
