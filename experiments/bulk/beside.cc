#include "experiments/bulk/beside.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "palimpsest/database.h"

#include "experiments/bulk/operations.h"
#include "experiments/bulk/table.h"
#include "experiments/common/crew.h"

namespace palimpsest::experiments::bulk {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// All counters at one moment.
struct Moment {
  Clock::time_point at;
  Counts reads{};
  Counts updates{};
  Counts other_writes{};
};

/// Threads by their numbers: readers, writers of the other table, the thread that keeps updating.
class Run {
 public:
  Run(const BesideOptions& options, Database& database, NumberedTable updated, NumberedTable other)
      : options_(options),
        database_(database),
        updated_(std::move(updated)),
        other_(std::move(other)),
        updater_(database, updated_, options.update == Update::bulk),
        readers_(options.readers),
        other_writers_(options.other_writers),
        crew_(threads(), [this](Crew& crew, std::uint32_t number) { work(crew, number); }) {}

  /// Runs the phases; throws a thread's error.
  std::vector<Phase> run() {
    crew_.go();
    std::vector<Phase> phases;
    if (!wait(options_.warmup_seconds)) {
      const Moment begin = now();
      if (!options_.once) {
        static_cast<void>(wait(options_.seconds));
        phases.push_back(phase("beside", begin, now()));
      } else {
        phases = run_once(begin);
      }
    }
    crew_.join();
    return phases;
  }

 private:
  [[nodiscard]] bool updates_always() const noexcept {
    return options_.update != Update::none && !options_.once;
  }
  [[nodiscard]] std::uint32_t threads() const noexcept {
    return options_.readers + options_.other_writers + (updates_always() ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t updated_together() const noexcept {
    return options_.update == Update::transactions ? kRowsOfTransaction : options_.rows;
  }

  void work(Crew& crew, std::uint32_t number) {
    crew.start_together();
    const std::uint64_t seed = options_.seed + number;
    if (number < readers_.size()) {
      if (options_.read == Read::scan) {
        scan(database_, updated_, updated_together(), crew.stopping(), readers_[number]);
      } else {
        read_by_key(updated_, seed, crew.stopping(), readers_[number]);
      }
    } else if (number < readers_.size() + other_writers_.size()) {
      update_single_rows(database_, other_, seed, crew.stopping(),
                         other_writers_[number - readers_.size()]);
    } else {
      while (updater_.update(crew.stopping(), updates_)) {
      }
    }
  }

  std::vector<Phase> run_once(const Moment& begin) {
    static_cast<void>(wait(options_.seconds));
    const Moment updating = now();
    static_cast<void>(updater_.update(crew_.stopping(), updates_));
    const Moment updated = now();
    static_cast<void>(wait(options_.seconds));
    return {phase("before", begin, updating), phase("during", updating, updated),
            phase("after", updated, now())};
  }

  /// True if a thread has failed meanwhile.
  [[nodiscard]] bool wait(double seconds) {
    return crew_.wait_for_end(Clock::now() + duration_of(seconds));
  }

  [[nodiscard]] Moment now() const {
    Moment moment{.at = Clock::now()};
    for (const Tally& tally : readers_) {
      tally.add_to(moment.reads);
    }
    for (const Tally& tally : other_writers_) {
      tally.add_to(moment.other_writes);
    }
    updates_.add_to(moment.updates);
    return moment;
  }

  [[nodiscard]] static Phase phase(std::string name, const Moment& begin, const Moment& end) {
    return {.name = std::move(name),
            .seconds = std::chrono::duration<double>(end.at - begin.at).count(),
            .reads = since(end.reads, begin.reads),
            .updates = since(end.updates, begin.updates),
            .other_writes = since(end.other_writes, begin.other_writes)};
  }

  const BesideOptions& options_;
  Database& database_;
  const NumberedTable updated_;
  const NumberedTable other_;
  Updater updater_;
  std::deque<Tally> readers_;
  std::deque<Tally> other_writers_;
  Tally updates_;
  Crew crew_;  ///< last: constructed after all members that its threads use
};

}  // namespace

std::string_view name_of(Read read) noexcept {
  switch (read) {
    case Read::scan: return "scan";
    case Read::get: return "get";
  }
  return "unknown";
}

std::string_view name_of(Update update) noexcept {
  switch (update) {
    case Update::none: return "none";
    case Update::transactions: return "transactions";
    case Update::bulk: return "bulk";
  }
  return "unknown";
}

BesideResult run_beside(const BesideOptions& options) {
  constexpr std::uint64_t kOtherRowsMax = 100'000;
  const std::uint64_t other_rows = std::min(options.rows, kOtherRowsMax);
  Database database =
      Database::open(options.directory, {.memory_bytes = options.memory_bytes,
                                         .version_bytes_max = options.version_bytes_max,
                                         .must_be_new = true});
  BesideResult result;
  const Clock::time_point loading = Clock::now();
  const NumberedTable updated{make_table(database, "updated", options.rows), options.rows};
  const NumberedTable other{make_table(database, "other", other_rows), other_rows};
  result.load_seconds = seconds_since(loading);
  {
    MemorySampler sampler([&] { return database.statistics().version_bytes; });
    Run run(options, database, updated, other);
    result.phases = run.run();
    result.memory_max = sampler.maxima();
  }
  result.log_bytes = database.statistics().log_bytes;
  result.data_bytes = database.statistics().data_bytes;
  database.close();
  return result;
}

}  // namespace palimpsest::experiments::bulk
