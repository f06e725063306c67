#include "experiments/history/lives.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "base/random.h"

namespace palimpsest::experiments::history {
namespace {

using SteadyClock = std::chrono::steady_clock;

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

/// Works until it is killed. Returns the exit status if it is not.
int live_until_killed(const LivesOptions& options, const Continuation& continuation) {
  try {
    Recorder recorder(options.json_file, continuation);
    Database database = open_database(options);
    const Tally tally = run_workload(database, recorder, continuation, options.workload);
    for (const std::string& wrong : tally.wrong) {
      fmt::print(stderr, "{}\n", wrong);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "in a life that was to be killed: {}\n", error.what());
  }
  return EXIT_FAILURE;
}

void live_and_die(const LivesOptions& options, const Continuation& continuation,
                  std::chrono::microseconds until_kill) {
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error("no process can be started");
  }
  if (child == 0) {
    ::_exit(live_until_killed(options, continuation));
  }
  std::this_thread::sleep_for(until_kill);
  ::kill(child, SIGKILL);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFSIGNALED(status) ||
      WTERMSIG(status) != SIGKILL) {
    throw std::runtime_error("a process that was to be killed ended by itself");
  }
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
    of_life.workload.seconds = 3600;
    of_life.workload.transactions = ~std::uint64_t{0};
    of_life.workload.seed = random();
    const auto until_kill = static_cast<std::int64_t>(seconds * 2e6) + 2;
    live_and_die(of_life, continuation,
                 std::chrono::microseconds(random.below(static_cast<std::uint64_t>(until_kill))));
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
    throw std::runtime_error("the engine has shown what it must not");
  }
  const std::string killed =
      options.crashes == 0
          ? ""
          : fmt::format(
                "{} lives were killed, {} transactions committed in them, {} of unknown "
                "fate; the last one: ",
                options.crashes, continuation.ok, continuation.unknown);
  return killed + tally.text();
}

}  // namespace palimpsest::experiments::history
