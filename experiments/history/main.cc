// history: random transactions on Palimpsest, recorded as Elle and tests/isolation/ read them.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <filesystem>

#include "experiments/common/bench_main.h"
#include "experiments/history/lives.h"

DEFINE_string(path, "", "directory of the database; created if it does not exist");
DEFINE_int64(memory_mib, 8, "memory of the database, MiB");
DEFINE_int64(version_kib, 0, "part of the memory for versions, KiB; 0: the engine's default");
DEFINE_int64(threads, 4, "number of threads that run transactions");
DEFINE_double(seconds, 10, "time of the workload, all lives together, seconds");
DEFINE_int64(transactions, 0, "most transactions in a life that is not killed; 0: as time allows");
DEFINE_int64(keys, 40, "number of keys in use at a time");
DEFINE_int64(writes_per_key, 8, "writes to a key until a new one replaces it");
DEFINE_int64(bulk_percent, 0, "share of transactions that are bulks, percent");
DEFINE_string(isolation, "snapshot", "isolation: none, read_committed, snapshot or serializable");
DEFINE_string(mode, "list_append", "kind of history: list_append or register");
DEFINE_string(durability, "synchronous", "durability of commits: synchronous or asynchronous");
DEFINE_int64(crashes, 0, "how often the process is killed and started again");
DEFINE_string(jsonl, "", "file of the history, as lines of JSON");
DEFINE_string(edn, "", "the same history as EDN");
DEFINE_int64(seed, 1, "seed of the transactions' choices");

namespace {

namespace fs = std::filesystem;
using namespace palimpsest::experiments;
using palimpsest::Durability;
using palimpsest::Isolation;

template <class Value>
Value named(const char* flag, const std::string& text,
            std::initializer_list<std::pair<const char*, Value>> values) {
  std::string known;
  for (const auto& [name, value] : values) {
    if (text == name) {
      return value;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  throw UsageError(fmt::format("--{}={}: unknown; one of {}", flag, text, known));
}

constexpr std::int64_t kCrashesMax = 1'000'000;
constexpr std::int64_t kKeysMax = 1'000'000;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 24U;
constexpr std::int64_t kTransactionsMax = std::int64_t{1} << 40U;

std::uint64_t number(const char* flag, std::int64_t value, std::int64_t min, std::int64_t max) {
  return static_cast<std::uint64_t>(in_range(flag, value, min, max));
}

/// The file that the path leads to, even if it does not exist yet.
fs::path target_of(fs::path path) {
  constexpr int kLinksMax = 40;
  for (int i = 0; i < kLinksMax && fs::is_symlink(path); ++i) {
    path = path.parent_path() / fs::read_symlink(path);
  }
  path = fs::weakly_canonical(fs::absolute(path));
  return path.has_filename() ? path : path.parent_path();  // db/ is db
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  return one == other || (fs::exists(one) && fs::exists(other) && fs::equivalent(one, other));
}

/// Whether it is the other path, or inside it.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const auto [at_inner, at_outer] = std::ranges::mismatch(inner, outer);
  return at_outer == outer.end();
}

void check_output(const char* flag, const std::string& file) {
  if (fs::is_directory(file)) {
    throw UsageError(fmt::format("--{}={}: is a directory", flag, file));
  }
  const fs::path database = target_of(FLAGS_path);
  if (is_within(target_of(file), database) || is_within(database, target_of(file))) {
    throw UsageError(
        fmt::format("--{}={}: lies in --path={}, or contains it", flag, file, FLAGS_path));
  }
}

/// Refuses outputs that would overwrite an existing database, or each other.
void check_paths() {
  if (FLAGS_path.empty() || FLAGS_jsonl.empty()) {
    throw UsageError("--path and --jsonl are needed");
  }
  check_output("jsonl", FLAGS_jsonl);
  if (!FLAGS_edn.empty()) {
    check_output("edn", FLAGS_edn);
    if (is_same_file(target_of(FLAGS_jsonl), target_of(FLAGS_edn))) {
      throw UsageError(
          fmt::format("--edn={}: is the same file as --jsonl={}", FLAGS_edn, FLAGS_jsonl));
    }
  }
  if (fs::exists(FLAGS_path) && !fs::is_empty(FLAGS_path)) {
    throw UsageError(fmt::format("--path={}: a history needs an empty database", FLAGS_path));
  }
}

history::LivesOptions options_of_flags() {
  history::LivesOptions options;
  options.directory = FLAGS_path;
  options.json_file = FLAGS_jsonl;
  options.crashes = static_cast<std::uint32_t>(number("crashes", FLAGS_crashes, 0, kCrashesMax));
  options.database.memory_bytes = number("memory_mib", FLAGS_memory_mib, 1, kMemoryMibMax) << 20U;
  options.database.version_bytes_max =
      number("version_kib", FLAGS_version_kib, 0, kMemoryMibMax << 10) << 10U;
  options.database.durability = named<Durability>(
      "durability", FLAGS_durability,
      {{"synchronous", Durability::synchronous}, {"asynchronous", Durability::asynchronous}});
  if (options.crashes != 0 && options.database.durability != Durability::synchronous) {
    throw UsageError("--durability=asynchronous: acknowledged commits are lost when --crashes");
  }
  history::WorkloadOptions& workload = options.workload;
  workload.isolation = named<Isolation>("isolation", FLAGS_isolation,
                                        {{"none", Isolation::none},
                                         {"read_committed", Isolation::read_committed},
                                         {"snapshot", Isolation::snapshot},
                                         {"serializable", Isolation::serializable}});
  workload.mode = named<history::Mode>(
      "mode", FLAGS_mode,
      {{"list_append", history::Mode::list_append}, {"register", history::Mode::registers}});
  workload.threads = static_cast<std::uint32_t>(in_range("threads", FLAGS_threads, 1, 1000));
  workload.keys = number("keys", FLAGS_keys, 1, kKeysMax);
  workload.writes_max =
      static_cast<std::uint32_t>(in_range("writes_per_key", FLAGS_writes_per_key, 1, 1000));
  workload.bulk_percent =
      static_cast<std::uint32_t>(in_range("bulk_percent", FLAGS_bulk_percent, 0, 100));
  workload.seconds = seconds_in_range("seconds", FLAGS_seconds, false);
  if (FLAGS_transactions != 0) {
    workload.transactions = number("transactions", FLAGS_transactions, 1, kTransactionsMax);
  }
  workload.seed = static_cast<std::uint64_t>(FLAGS_seed);
  return options;
}

void run() {
  check_paths();
  const history::LivesOptions options = options_of_flags();
  fmt::print("{}\n", history::run_lives(options));
  if (!FLAGS_edn.empty()) {
    history::convert_to_edn(FLAGS_jsonl, FLAGS_edn);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "history",
                    "record random transactions; see experiments/history/README.md", run);
}
