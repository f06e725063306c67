#include "experiments/kv_bench/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "experiments/common/crew.h"
#include "experiments/common/path_lock.h"
#include "experiments/common/process_stats.h"
#include "experiments/kv_bench/manifest.h"
#include "experiments/kv_bench/worker.h"

namespace palimpsest::experiments {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kMib = 1024.0 * 1024.0;
/// How often counters and resident memory are sampled.
constexpr std::chrono::milliseconds kTick{100};
constexpr std::chrono::seconds kLineEvery{1};

double seconds_since(Clock::time_point start) {
  return Seconds(Clock::now() - start).count();
}

/// The absolute counters a phase subtracts its beginning from.
struct Counters {
  ProcessStats process;
  EngineStats engine;
};

/// How the workers of a phase end.
struct PhasePlan {
  const char* name;
  std::uint32_t number;  ///< within the run
  SessionUse use;
  std::uint32_t workers;
  double seconds;  ///< infinite: until all workers have done their share
  void (*work)(KvSession&, const WorkerContext&, WorkerState&);
};

class Phase {
 public:
  Phase(KvEngine& engine, const Options& options, const RecordChooser& chooser, PhasePlan plan,
        std::span<WorkerState> states, const ProgressLine& progress,
        std::uint64_t& resident_bytes_max)
      : engine_(engine),
        options_(options),
        chooser_(chooser),
        plan_(plan),
        progress_(progress),
        resident_bytes_max_(resident_bytes_max),
        states_(states.first(plan.workers)) {
    for (WorkerState& state : states_) {
      state.ops.store(0, std::memory_order_relaxed);
      state.latency_ns.clear();
    }
  }

  /// Runs the workers to their end; throws the first error of any of them.
  [[nodiscard]] PhaseResult run() {
    Crew crew(plan_.workers, [this](Crew& of, std::uint32_t worker) { run_worker(of, worker); });
    before_ = {.process = read_process_stats(), .engine = engine_.stats()};
    crew.go();
    start_ = Clock::now();
    PhaseResult result = watch(crew);
    crew.join();
    for (const WorkerState& state : states_) {
      result.latency_ns.merge(state.latency_ns);
    }
    return result;
  }

 private:
  void run_worker(Crew& crew, std::uint32_t worker) {
    const std::unique_ptr<KvSession> session = engine_.open_session(plan_.use);
    crew.start_together();
    if (!crew.stopping().load()) {
      const WorkerContext context{.options = options_,
                                  .chooser = chooser_,
                                  .stop = crew.stopping(),
                                  .phase = plan_.number,
                                  .worker = worker,
                                  .workers = plan_.workers};
      plan_.work(*session, context, states_[worker]);
    }
  }

  /// Waits for the end of the phase, taking samples.
  [[nodiscard]] PhaseResult watch(Crew& crew) {
    PhaseResult result;
    const std::chrono::milliseconds tick =
        options_.sample_ms == 0 ? kTick
                                : std::min(kTick, std::chrono::milliseconds(options_.sample_ms));
    Clock::time_point next_tick = start_ + tick;
    Clock::time_point next_line = start_ + kLineEvery;
    Sample last_line;
    const Clock::time_point deadline =
        plan_.seconds < std::numeric_limits<double>::infinity()
            ? start_ + std::chrono::duration_cast<Clock::duration>(Seconds(plan_.seconds))
            : Clock::time_point::max();
    while (!crew.wait_for_end(std::min(next_tick, deadline)) && Clock::now() < deadline) {
      const Sample now = sample();
      if (options_.sample_ms != 0 &&
          now.seconds * 1000.0 >=
              static_cast<double>((result.series.size() + 1) * options_.sample_ms)) {
        result.series.push_back(now);
      }
      if (Clock::now() >= next_line) {
        print(last_line, now);
        last_line = now;
        next_line += kLineEvery;
      }
      next_tick = std::max(next_tick + tick, Clock::now());
    }
    result.end = sample();
    return result;
  }

  [[nodiscard]] Sample sample() {
    Sample now;
    now.seconds = seconds_since(start_);
    for (const WorkerState& state : states_) {
      now.ops += state.ops.load(std::memory_order_relaxed);
    }
    const ProcessStats process = read_process_stats();
    const EngineStats engine = engine_.stats();
    now.resident_bytes = process.resident_bytes;
    now.read_bytes = process.read_bytes - before_.process.read_bytes;
    now.write_bytes = process.write_bytes - before_.process.write_bytes;
    now.page_reads = engine.page_reads ? *engine.page_reads - before_.engine.page_reads.value_or(0)
                                       : now.read_bytes / options_.page_bytes;
    now.page_writes = engine.page_writes
                          ? *engine.page_writes - before_.engine.page_writes.value_or(0)
                          : now.write_bytes / options_.page_bytes;
    resident_bytes_max_ = std::max(resident_bytes_max_, now.resident_bytes);
    return now;
  }

  void print(const Sample& from, const Sample& to) const {
    const double interval = to.seconds - from.seconds;
    const auto rate = [&](std::uint64_t before, std::uint64_t after) {
      return static_cast<double>(after - before) / interval;
    };
    progress_(fmt::format(
        "{:7} {:6.1f} s {:12.0f} ops/s {:10.0f} page reads/s {:10.0f} writes/s {:10.1f} MiB",
        plan_.name, to.seconds, rate(from.ops, to.ops), rate(from.page_reads, to.page_reads),
        rate(from.page_writes, to.page_writes), static_cast<double>(to.resident_bytes) / kMib));
  }

  KvEngine& engine_;
  const Options& options_;
  const RecordChooser& chooser_;
  const PhasePlan plan_;
  const ProgressLine& progress_;
  std::uint64_t& resident_bytes_max_;
  std::span<WorkerState> states_;
  Counters before_;
  Clock::time_point start_;
};

/// The steps of one run, in order.
class Run {
 public:
  Run(const Options& options, const EngineEntry& entry, const ProgressLine& progress)
      : options_(options),
        entry_(entry),
        progress_(progress),
        chooser_(options),
        states_(std::max(options.threads, options.warmup_threads)),
        directory_(options.path) {}

  RunResult run() {
    const bool persistent = entry_.traits.persistent;
    if (persistent) {
      lock_.emplace(options_.path);
    }
    const DataPlan plan =
        persistent ? directory_.plan(options_) : DataPlan{.load = true, .reason = {}};
    if (plan.load && persistent) {
      progress_(fmt::format("loading {} records into {}: {}", options_.records,
                            options_.path.string(), plan.reason));
      directory_.start_load(options_);
    }
    open();
    if (plan.load) {
      load();
      if (persistent) {
        reopen();
      }
    }
    if (options_.mode != Mode::load) {
      measure();
    }
    close();
    if (persistent) {
      result_.data_bytes = occupied_bytes(directory_.data());
    }
    return std::move(result_);
  }

 private:
  void open() {
    const EngineSettings settings{
        .directory = directory_.data(),
        .memory_bytes = options_.memory_bytes,
        .page_bytes = options_.page_bytes,
        .records = options_.records,
        .value_bytes = options_.value_bytes,
        .sessions_max = std::max(options_.threads, options_.warmup_threads),
        .fits_in_memory = options_.fits_in_memory(),
        .double_write = options_.double_write.value_or(true)};
    if (result_.resident_bytes_before_open == 0) {
      result_.resident_bytes_before_open = read_process_stats().resident_bytes;
    }
    engine_ = entry_.open(settings);
    result_.io_description = engine_->io_description();
  }

  void close() {
    engine_->close();
    engine_.reset();
    if (entry_.traits.persistent) {
      directory_.set_state(DataState::closed);
    }
  }

  void load() {
    const std::uint32_t limit = entry_.traits.load_threads_max;
    const std::uint32_t workers = limit == 0 ? options_.threads : std::min(options_.threads, limit);
    const Clock::time_point start = Clock::now();
    const PhaseResult loaded =
        phase({"load", 0, SessionUse::load, workers, kUntilDone, load_range});
    result_.load.seconds = seconds_since(start);
    engine_->finish_load();
    result_.load.loaded = true;
    result_.load.records = loaded.end.ops;
    result_.load.settle_seconds = seconds_since(start) - result_.load.seconds;
  }

  /// Closes after a load, so that a run after it starts as every other run does. A load on its own
  /// ends here, its close being part of it.
  void reopen() {
    const Clock::time_point start = Clock::now();
    engine_->close();
    engine_.reset();
    result_.load.settle_seconds += seconds_since(start);
    directory_.set_state(DataState::closed);
    open();
  }

  void measure() {
    if (entry_.traits.persistent) {
      directory_.set_state(DataState::open);
    }
    const SessionUse use = options_.mode == Mode::lookup || options_.mode == Mode::scan
                               ? SessionUse::read_only
                               : SessionUse::read_write;
    result_.prefilled = entry_.traits.persistent && options_.fits_in_memory();
    if (result_.prefilled) {
      (void)phase({"prefill", 1, SessionUse::read_only, options_.threads, kUntilDone, scan_range});
    }
    if (options_.warmup_seconds > 0) {
      (void)phase({"warmup", 2, use, options_.warmup_threads, options_.warmup_seconds, operate});
    }
    result_.engine_counts_pages = engine_->stats().page_reads.has_value();
    result_.measured = phase({"run", 3, use, options_.threads, options_.seconds, operate});
  }

  PhaseResult phase(PhasePlan plan) {
    return Phase(*engine_, options_, chooser_, plan, states_, progress_, result_.resident_bytes_max)
        .run();
  }

  static constexpr double kUntilDone = std::numeric_limits<double>::infinity();

  const Options& options_;
  const EngineEntry& entry_;
  const ProgressLine& progress_;
  RecordChooser chooser_;
  std::vector<WorkerState> states_;  ///< allocated before the engine, so not counted as its memory
  std::optional<PathLock> lock_;     ///< of the directory, taken before it is read
  DataDirectory directory_;
  std::unique_ptr<KvEngine> engine_;
  RunResult result_;
};

}  // namespace

RunResult run_benchmark(const Options& options, const EngineEntry& engine,
                        const ProgressLine& progress) {
  return Run(options, engine, progress).run();
}

}  // namespace palimpsest::experiments
