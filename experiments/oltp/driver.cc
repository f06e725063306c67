#include "experiments/oltp/driver.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "experiments/common/crew.h"
#include "experiments/common/mix.h"
#include "experiments/common/path_lock.h"
#include "experiments/oltp/manifest.h"
#include "experiments/oltp/measure.h"

namespace palimpsest::experiments::oltp {
namespace {

using Clock = Crew::Clock;

constexpr std::chrono::milliseconds kBarEvery{100};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The steps of one run, in order.
class Run {
 public:
  Run(const Options& options, const Workload& workload, const EngineEntry& engine,
      ProgressDisplay& display)
      : options_(options),
        workload_(workload),
        engine_(engine),
        display_(display),
        scale_(workload.scale_of(options.scale)),
        lock_(options.path),
        directory_(options.path, workload.traits) {}

  [[nodiscard]] RunResult run() {
    prepare();
    if (options_.check) {
      bench_->prepare_check(directory_.runs() == 0 ? DataState::as_loaded : DataState::used);
    }
    if (options_.seconds > 0) {
      say_durability();
      if (fits_in_memory_) {
        read_everything();
      }
      result_.earlier_runs = directory_.start_run();
      result_.measured =
          measure(options_, run_seed(), workload_, *bench_, directory_.data(), display_);
    }
    if (options_.check) {
      check();
    }
    bench_->close();
    return std::move(result_);
  }

 private:
  /// Leaves the database loaded and open.
  void prepare() {
    const DataPlan plan = directory_.plan(options_);
    display_.line(fmt::format("{} on {}, --{}={}: {} in {}", workload_.traits.name, options_.engine,
                              workload_.traits.scale_flag, options_.scale, plan.reason,
                              options_.path.string()));
    if (plan.load) {
      directory_.start_load(options_);
      open(false);
      load();
      directory_.end_load(options_);
    }
    const Clock::time_point start = Clock::now();
    open(true);
    result_.description = bench_->description();
    result_.engine_options = bench_->effective_options();
    display_.line(fmt::format("opened in {:.1f} s: {}", seconds_since(start), result_.description));
  }

  void open(bool loaded) {
    bench_.reset();  // a directory is open once
    StoreSettings settings{.directory = directory_.data(),
                           .tables = workload_.tables,
                           .loaded = loaded,
                           .memory_bytes = options_.memory_bytes,
                           .data_bytes = scale_.data_bytes,
                           .sessions_max = options_.threads + 2,  // a long reader, the check
                           .isolation = options_.isolation,
                           .durability = options_.durability,
                           .write_conflicts = options_.write_conflicts.value_or(true),
                           .versions = options_.versions.value_or(true)};
    result_.asynchronous_interval = settings.asynchronous_interval;
    fits_in_memory_ = settings.fits_in_memory();
    bench_ = engine_.open(options_, settings);
  }

  void load() {
    const Clock::time_point start = Clock::now();
    result_.load.rows = insert_all();
    result_.load.seconds = seconds_since(start);
    bench_->finish_load();
    bench_->close();
    bench_.reset();
    (void)::malloc_trim(0);  // memory of the load must not count as the run's
    result_.load.settle_seconds = seconds_since(start) - result_.load.seconds;
    result_.load.loaded = true;
  }

  /// Returns the number of rows.
  std::uint64_t insert_all() {
    const std::uint32_t limit = engine_.traits.load_threads_max;
    const std::uint32_t threads = limit == 0 ? options_.threads : std::min(options_.threads, limit);
    LoadProgress progress;
    std::atomic<std::uint32_t> next_part{0};
    Crew crew(threads, [&](Crew& of, std::uint32_t) {
      const auto loader = bench_->open_loader();
      of.start_together();
      while (!of.stopping()) {
        const std::uint32_t part = next_part.fetch_add(1);
        if (part >= scale_.load_parts) {
          return;
        }
        loader->load(part, progress);
      }
    });
    const Clock::time_point start = Clock::now();
    const auto so_far = [&] {
      return Progress{.what = "loading",
                      .unit = "rows",
                      .done = progress.rows(),
                      .total = scale_.rows,
                      .seconds = seconds_since(start)};
    };
    crew.go();
    while (!crew.wait_for_end(Clock::now() + kBarEvery)) {
      display_.bar(so_far());
    }
    progress.stop();
    crew.join();
    Progress done = so_far();
    done.total = done.done;
    display_.end_bar(done);
    return done.done;
  }

  /// A different seed for each run: repeated transactions would find their changes already made.
  [[nodiscard]] std::uint64_t run_seed() const {
    return mix64(options_.seed + mix64(result_.earlier_runs));
  }

  /// A run in memory must be in memory from its first second on: loading pages one by one, on
  /// demand, would take many seconds.
  void read_everything() {
    const Clock::time_point start = Clock::now();
    const std::uint64_t bytes = bench_->read_everything(workload_.tables.size());
    result_.read_everything_seconds = seconds_since(start);
    display_.line(fmt::format("the data fits in memory: read once, {:.0f} MB in {:.1f} s",
                              static_cast<double>(bytes) / 1e6, *result_.read_everything_seconds));
  }

  void say_durability() {
    if (options_.durability == Durability::async) {
      display_.line(fmt::format(
          "commits are asynchronous: a crash may lose those of its last {} ms, and of one write",
          result_.asynchronous_interval.count()));
    }
  }

  void check() {
    display_.line("checking the consistency conditions");
    const Clock::time_point start = Clock::now();
    result_.check = bench_->check();
    result_.check_seconds = seconds_since(start);
  }

  const Options& options_;
  const Workload& workload_;
  const EngineEntry& engine_;
  ProgressDisplay& display_;
  const Scale scale_;
  const PathLock lock_;  ///< of the directory, taken before it is read
  const DataDirectory directory_;
  std::unique_ptr<Bench> bench_;
  bool fits_in_memory_ = false;
  RunResult result_;
};

}  // namespace

RunResult run_workload(const Options& options, const Workload& workload, const EngineEntry& engine,
                       ProgressDisplay& display) {
  return Run(options, workload, engine, display).run();
}

}  // namespace palimpsest::experiments::oltp
