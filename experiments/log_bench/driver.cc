#include "experiments/log_bench/driver.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>

#include "base/random.h"
#include "experiments/common/crew.h"
#include "experiments/common/mix.h"
#include "experiments/common/process_stats.h"

namespace palimpsest::experiments {
namespace {

using Clock = Timeline::Clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kPatience{60};

/// One worker's results.
struct WorkerRecord {
  std::uint32_t commits = 0;
  std::vector<std::uint32_t> last;  ///< by record: the sequence of this worker's last update, or 0
};

/// An empty directory that is removed afterwards; none for engines without files.
class EmptyDirectory {
 public:
  explicit EmptyDirectory(std::filesystem::path path) : path_(std::move(path)) {
    if (path_.empty()) {
      return;
    }
    if (std::filesystem::exists(path_) && !std::filesystem::is_empty(path_)) {
      throw UsageError(
          fmt::format("--path={}: is not empty; log_bench makes its own data", path_.string()));
    }
    std::filesystem::create_directories(path_);
  }
  ~EmptyDirectory() {
    std::error_code ignored;  // what cannot be removed stays; the result is valid anyway
    std::filesystem::remove_all(path_, ignored);
  }
  EmptyDirectory(const EmptyDirectory&) = delete;
  EmptyDirectory& operator=(const EmptyDirectory&) = delete;

 private:
  std::filesystem::path path_;
};

/// The workers of a run, from opening their sessions to their end.
class Workers {
 public:
  Workers(CommitEngine& engine, const CommitOptions& options, std::span<WorkerRecord> records)
      : engine_(engine), options_(options), records_(records) {}

  /// Returns when all have ended; throws the first error of any of them.
  void run(CommitRunResult& result) {
    Crew crew(options_.threads, [this](Crew& of, std::uint32_t worker) {
      const std::unique_ptr<CommitSession> session = engine_.open_session();
      of.start_together();
      commit_until_end(*session, worker, of.stopping());
    });
    const auto warmup =
        std::chrono::duration_cast<Clock::duration>(Seconds(options_.warmup_seconds));
    timeline_.emplace(Clock::now() + warmup, options_.step, options_.steps);
    crew.go();
    while (!crew.wait_for_end(Clock::now() + kPatience)) {
    }
    crew.join();
    result.latency_ns = timeline_->total();
    result.series = timeline_->steps();
  }

 private:
  void commit_until_end(CommitSession& session, std::uint32_t worker,
                        const std::atomic<bool>& stopping) {
    if (stopping.load()) {
      return;  // another thread has failed, and there may be no timeline
    }
    WorkerRecord& record = records_[worker];
    Timeline::Recorder recorder(*timeline_);
    Random random(mix64(options_.seed) + worker);
    const Clock::time_point end = timeline_->end();
    while (!stopping.load(std::memory_order_relaxed)) {
      const std::uint64_t target = random.below(options_.records);
      const Field field = field_of({.worker = worker + 1, .sequence = record.commits + 1});
      const Clock::time_point begin = Clock::now();
      if (begin >= end) {
        return;
      }
      session.update(target, kFieldOffset, field);
      const Clock::time_point now = Clock::now();
      record.last[target] = ++record.commits;
      recorder.record(now, static_cast<std::uint64_t>((now - begin).count()));
    }
  }

  static_assert(std::is_same_v<Clock::period, std::nano>);

  CommitEngine& engine_;
  const CommitOptions& options_;
  std::span<WorkerRecord> records_;
  std::optional<Timeline> timeline_;
};

std::optional<std::uint64_t> difference(std::optional<std::uint64_t> before,
                                        std::optional<std::uint64_t> after) {
  return before && after ? std::optional(*after - *before) : std::nullopt;
}

/// Throws DamagedRecord unless `found` is the last update that one of the workers made to `record`,
/// or the record was never updated.
void check_mark(std::uint64_t record, UpdateMark found, std::span<const WorkerRecord> workers) {
  if (found == UpdateMark{}) {
    for (const WorkerRecord& worker : workers) {
      if (worker.last[record] != 0) {
        throw DamagedRecord(fmt::format("record {}: all its updates are lost", record));
      }
    }
    return;
  }
  if (found.worker == 0 || found.worker > workers.size() || found.sequence == 0 ||
      workers[found.worker - 1].last[record] != found.sequence) {
    throw DamagedRecord(fmt::format(
        "record {}: holds update {} of worker {}, which was not that worker's last one to it",
        record, found.sequence, found.worker));
  }
}

/// The steps of one run, in order.
class Run {
 public:
  Run(const CommitOptions& options, const CommitEngineEntry& entry, const ProgressLine& progress)
      : options_(options),
        entry_(entry),
        progress_(progress),
        workers_(options.threads),
        directory_(options.path) {
    for (WorkerRecord& worker : workers_) {
      worker.last.assign(options.records, 0);
    }
  }

  CommitRunResult run() {
    std::unique_ptr<CommitEngine> engine = open();
    load(*engine);
    measure(*engine);
    engine->close();
    engine.reset();
    engine = open();
    verify(*engine);
    engine->close();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::unique_ptr<CommitEngine> open() const {
    return entry_.open({.directory = options_.path,
                        .memory_bytes = options_.memory_bytes,
                        .sessions_max = options_.threads,
                        .durability = options_.durability,
                        .flush_every = options_.flush_every,
                        .checkpoint_every = options_.checkpoint_every,
                        .log_bytes_max = options_.log_bytes_max,
                        .delta = options_.delta.value_or(false)});
  }

  void load(CommitEngine& engine) {
    const Clock::time_point start = Clock::now();
    engine.load(options_.records);
    result_.load_seconds = Seconds(Clock::now() - start).count();
    result_.durability_description = engine.durability_description();
    progress_(fmt::format("{}: loaded {} records in {:.1f} s", options_.engine, options_.records,
                          result_.load_seconds));
  }

  void measure(CommitEngine& engine) {
    const LogCounts log_before = engine.log_counts();
    const std::uint64_t write_bytes_before = read_process_stats().write_bytes;
    Workers(engine, options_, workers_).run(result_);
    result_.write_bytes = read_process_stats().write_bytes - write_bytes_before;
    const LogCounts log_after = engine.log_counts();
    result_.log.record_bytes = difference(log_before.record_bytes, log_after.record_bytes);
    result_.log.log_bytes = difference(log_before.log_bytes, log_after.log_bytes);
    result_.log.checkpoints = difference(log_before.checkpoints, log_after.checkpoints);
    for (const WorkerRecord& worker : workers_) {
      result_.commits += worker.commits;
    }
  }

  void verify(CommitEngine& engine) const {
    const std::unique_ptr<CommitSession> session = engine.open_session();
    for (std::uint64_t record = 0; record < options_.records; ++record) {
      const std::optional<Value> value = session->read(record);
      if (!value) {
        throw DamagedRecord(fmt::format("record {}: is missing", record));
      }
      check_mark(record, verified_mark(record, *value), workers_);
    }
    progress_(
        fmt::format("{}: {} commits, all found after reopening", options_.engine, result_.commits));
  }

  const CommitOptions& options_;
  const CommitEngineEntry& entry_;
  const ProgressLine& progress_;
  std::vector<WorkerRecord> workers_;
  EmptyDirectory directory_;
  CommitRunResult result_;
};

}  // namespace

CommitRunResult run_commits(const CommitOptions& options, const CommitEngineEntry& engine,
                            const ProgressLine& progress) {
  return Run(options, engine, progress).run();
}

}  // namespace palimpsest::experiments
