#include "experiments/oltp/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/crew.h"
#include "experiments/common/mix.h"
#include "experiments/common/result_json.h"
#include "experiments/oltp/arrivals.h"
#include "experiments/oltp/operate.h"
#include "experiments/oltp/reader_turns.h"

namespace palimpsest::experiments::oltp {
namespace {

using Clock = Crew::Clock;
using Seconds = std::chrono::duration<double>;

constexpr double kMb = 1e6;
constexpr std::chrono::seconds kSecond{1};
/// Of a long reader: seldom enough to take no time from the other threads.
constexpr std::chrono::milliseconds kLookInterval{10};

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

/// A line of a run, for people.
std::string line_of(const Workload& workload, std::string_view phase, double seconds,
                    const Interval& interval) {
  std::string text =
      fmt::format("{:6} {:6.1f} s {:8.0f} tps", phase, seconds, interval.commits_per_second());
  if (const auto& figure = workload.figure) {
    const Tally& tally = interval.tally;
    text += fmt::format(" {:8.0f} {}, {} p99 {:.2f} ms",
                        60 * interval.per_second(tally.commits[figure->type]), figure->name,
                        workload.types[figure->type],
                        microseconds(tally.latency_ns[figure->type].quantile(0.99)) / 1000);
  }
  text += fmt::format(", {:.0f} conflicts/s; MB/s:",
                      interval.per_second(interval.tally.all_conflicts()));
  if (interval.store.log_bytes) {
    text += fmt::format(" {:.1f} log,", interval.per_second(*interval.store.log_bytes) / kMb);
  }
  return text + fmt::format(" {:.1f} read, {:.1f} written; {:.0f} MB rss",
                            interval.per_second(interval.process.read_bytes) / kMb,
                            interval.per_second(interval.process.write_bytes) / kMb,
                            static_cast<double>(interval.process.resident_bytes) / kMb);
}

class Measuring {
 public:
  Measuring(const Options& options, std::uint64_t seed, const Workload& workload, Bench& bench,
            std::filesystem::path data, ProgressDisplay& display)
      : options_(options),
        seed_(seed),
        workload_(workload),
        bench_(bench),
        data_(std::move(data)),
        display_(display),
        arrivals_(options.rate) {
    for (std::uint32_t i = 0; i < options.threads; ++i) {
      tallies_.emplace_back(workload.types.size());
    }
  }

  [[nodiscard]] Measurement run() {
    const std::uint32_t members = options_.threads + (options_.long_reader ? 1 : 0);
    Crew crew(members, [this](Crew& of, std::uint32_t number) {
      if (number < options_.threads) {
        work(of, number);
      } else {
        options_.reader_turns ? read_by_turns(of) : read_long(of);
      }
    });
    start_ = Clock::now();
    arrivals_.start(start_);
    crew.go();
    watch(crew, "warmup", look(), duration_of(options_.warmup_seconds), nullptr);
    const Moment from = look();
    Measurement result;
    result.engine_counts_data = from.store.data_bytes.has_value();
    result.data_bytes_start = data_bytes(from);
    const Moment to = watch(crew, "run", from, duration_of(options_.seconds), &result);
    result.total = between(from, to);
    crew.join();
    result.data_bytes_end = data_bytes(to);
    result.long_reader = long_reader_;
    result.reader_share = reader_share_;
    return result;
  }

 private:
  void work(Crew& crew, std::uint32_t number) {
    const std::uint64_t seed = mix64(seed_ ^ mix64(number));
    const auto terminal = bench_.open_terminal(number, seed);
    crew.start_together();
    operate(*terminal, arrivals_, crew.stopping(), mix64(seed), tallies_[number]);
  }

  void read_long(Crew& crew) {
    const auto reader = bench_.open_long_reader(workload_.tables.size());
    crew.start_together();
    look_until(crew, *reader, Clock::time_point::max());
    long_reader_ = reader->counts();
  }
  /// After the warm-up. A turn still open at the run's end is not counted.
  void read_by_turns(Crew& crew) {
    const Clock::duration turn = duration_of(*options_.reader_turns);
    std::vector<ReaderTurn> turns;
    LongReaderCounts counts;
    crew.start_together();
    for (bool goes_on = pause(crew, duration_of(options_.warmup_seconds)); goes_on;) {
      ReaderTurn now;
      now.opened = mark();
      const LongReaderCounts seen = read_for(crew, turn);
      counts.looks += seen.looks;
      counts.restarts += seen.restarts;
      now.closed = mark();
      goes_on = pause(crew, turn / 2);
      now.settled = mark();
      goes_on = goes_on && pause(crew, turn / 2);
      now.ended = mark();
      if (goes_on) {
        turns.push_back(now);
      }
    }
    long_reader_ = counts;
    reader_share_ = share_of(turns);
  }
  [[nodiscard]] LongReaderCounts read_for(Crew& crew, Clock::duration time) {
    const Clock::time_point end = Clock::now() + time;
    const auto reader = bench_.open_long_reader(workload_.tables.size());
    look_until(crew, *reader, end);
    return reader->counts();
  }
  static void look_until(Crew& crew, LongReader& reader, Clock::time_point end) {
    do {
      reader.look();
    } while (Clock::now() < end && crew.rest_until(std::min(end, Clock::now() + kLookInterval)));
  }
  /// False: the run has ended.
  [[nodiscard]] static bool pause(Crew& crew, Clock::duration time) {
    return crew.rest_until(Clock::now() + time);
  }
  [[nodiscard]] CommitMark mark() const {
    const double seconds = Seconds(Clock::now() - start_).count();
    return {.seconds = seconds, .commits = tally().all_commits()};
  }

  /// Watches until `length` after `from`, prints a line each second, and stores the intervals in
  /// `result`, if there is one: the last interval may be shorter. Returns the last moment. Ends
  /// early if a terminal has failed.
  Moment watch(Crew& crew, std::string_view phase, const Moment& from, Clock::duration length,
               Measurement* result) {
    const Clock::time_point begin = start_ + duration_of(from.seconds);
    const Clock::time_point end = begin + length;
    Clock::time_point next_sample = begin + options_.sample;
    Clock::time_point next_line = begin + kSecond;
    Moment last_sample = from;
    Moment last_line = from;
    for (bool ended = length <= Clock::duration::zero(); !ended;) {
      const Clock::time_point until = std::min({next_sample, next_line, end});
      ended = crew.wait_for_end(until) || until == end;
      const Moment now = look();
      if (result != nullptr) {
        result->maxima.add(now);
      }
      if ((until == next_sample || ended) && result != nullptr) {
        result->series.emplace_back(now.seconds - from.seconds, between(last_sample, now));
      }
      if (until == next_sample) {
        last_sample = now;
        next_sample = std::max(next_sample + options_.sample, Clock::now());
      }
      if (until == next_line) {
        const Interval second = between(last_line, now);
        display_.line(line_of(workload_, phase, now.seconds - from.seconds, second));
        if (result != nullptr) {
          result->commits_by_second.push_back(second.commits_per_second());
        }
        last_line = now;
        next_line += kSecond;
      }
      if (ended) {
        return now;
      }
    }
    return from;
  }

  [[nodiscard]] Moment look() const {
    Moment now;
    now.seconds = Seconds(Clock::now() - start_).count();
    now.tally = tally();
    now.store = bench_.counts();
    now.process = read_process_stats();
    return now;
  }

  [[nodiscard]] Tally tally() const {
    Tally all(workload_.types.size());
    for (const WorkerTally& one : tallies_) {
      one.add_to(all);
    }
    return all;
  }

  [[nodiscard]] std::uint64_t data_bytes(const Moment& at) const {
    return at.store.data_bytes ? *at.store.data_bytes : occupied_bytes(data_);
  }

  const Options& options_;
  const std::uint64_t seed_;
  const Workload& workload_;
  Bench& bench_;
  const std::filesystem::path data_;
  ProgressDisplay& display_;
  Arrivals arrivals_;
  std::deque<WorkerTally> tallies_;              ///< one for each thread
  std::optional<LongReaderCounts> long_reader_;  ///< written by its thread at its end
  std::optional<ReaderShare> reader_share_;      ///< likewise
  Clock::time_point start_{};
};

}  // namespace

Measurement measure(const Options& options, std::uint64_t seed, const Workload& workload,
                    Bench& bench, const std::filesystem::path& data, ProgressDisplay& display) {
  return Measuring(options, seed, workload, bench, data, display).run();
}

}  // namespace palimpsest::experiments::oltp
