#include "experiments/history/lives.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "experiments/history/child.h"

namespace palimpsest::experiments::history {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Seconds, beyond any kill.
constexpr double kForever = 1e8;

/// The kernel may hold the files of a process that was killed for a moment.
Database open_database(const LivesOptions& options) {
  const auto deadline = SteadyClock::now() + std::chrono::seconds(60);
  for (;;) {
    try {
      return Database::open(options.directory, options.database);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::locked || SteadyClock::now() > deadline) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Works until it is killed, or has an error to report.
void live_until_killed(LivesOptions options, const Continuation& continuation,
                       const LastWords& say) {
  options.workload.on_wrong = say;
  Recorder recorder(options.json_file, continuation);
  Database database = open_database(options);
  const Tally tally = run_workload(database, recorder, continuation, options.workload);
  say(fmt::format("all threads have ended: {}", tally.text()));
}

}  // namespace

Tally live(const LivesOptions& options, Recorder& recorder, const Continuation& continuation) {
  Database database = open_database(options);
  Tally tally = run_workload(database, recorder, continuation, options.workload);
  tally.add(read_everything(database, recorder, options.workload, tally.next_key));
  database.close();
  return tally;
}

std::string run_lives(const LivesOptions& options) {
  Continuation continuation;
  {
    const Recorder made(options.json_file);
  }
  LivesOptions of_life = options;
  const double seconds = options.workload.seconds / (options.crashes + 1);
  Random random(options.workload.seed);
  for (std::uint32_t i = 0; i < options.crashes; ++i) {
    of_life.workload.seconds = kForever;
    of_life.workload.transactions = ~std::uint64_t{0};
    of_life.workload.seed = random();
    const auto until_kill = static_cast<std::int64_t>(seconds * 2e6) + 2;
    run_until_killed(
        std::chrono::microseconds(random.below(static_cast<std::uint64_t>(until_kill))),
        [&](const LastWords& say) { live_until_killed(of_life, continuation, say); });
    continuation = resume(options.json_file);
  }
  of_life.workload.seconds = seconds;
  of_life.workload.transactions = options.workload.transactions;
  Recorder recorder(options.json_file, continuation);
  const Tally tally = live(of_life, recorder, continuation);
  for (const std::string& wrong : tally.wrong) {
    fmt::print(stderr, "{}\n", wrong);
  }
  if (!tally.wrong.empty()) {
    throw std::runtime_error("the history violates what the engine guarantees");
  }
  const std::string killed =
      options.crashes == 0
          ? ""
          : fmt::format(
                "{} lives were killed, {} transactions committed in them, {} of unknown "
                "outcome; the last one: ",
                options.crashes, continuation.ok, continuation.unknown);
  return killed + tally.text();
}

}  // namespace palimpsest::experiments::history
