#include "tests/everything/lives.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/open_device.h"
#include "tests/engine/engine_fixture.h"
#include "tests/everything/activities.h"
#include "tests/everything/judge.h"
#include "tests/everything/rows.h"
#include "tests/everything/small_disk.h"
#include "tests/everything/statements.h"

namespace palimpsest::everything {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using namespace palimpsest::types;

constexpr const char* kProbe = "probe";
constexpr std::size_t kProbeBytes = 300'000;
constexpr Milliseconds kNever(std::chrono::hours(1));
constexpr std::chrono::seconds kHangs(120);
constexpr Milliseconds kWatchEach(2);
/// Enough memory for the roots of all tables and indexes, and of the trees that were replaced since
/// the opening.
constexpr std::uint64_t kPagesForRoots = 1536;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// Retries if the files of a killed process stay locked for longer than opening waits, as on a busy
/// machine.
Database open_database(const std::string& path, const Options& options) {
  const auto deadline = SteadyClock::now() + kHangs;
  for (;;) {
    try {
      return Database::open(path, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::locked || SteadyClock::now() > deadline) {
        throw;
      }
    }
  }
}

void sleep_until_polled(Milliseconds time) {
  ::poll(nullptr, 0, static_cast<int>(time.count()));
}

TableSchema marker_schema(std::uint32_t thread, bool loose) {
  return {.name = marker_name(thread, loose),
          .columns = {{"one", int32()}, {"number", int64()}},
          .key = {"one"}};
}

}  // namespace

Lives::Lives(Place place, std::uint64_t seed)
    : place_(std::move(place)),
      seed_(seed),
      random_(seed),
      path_(place_.directory + "/database"),
      page_bytes_(random_.one_in(3) ? 16384 : 4096),
      shared_(std::make_unique<SharedMemory>()) {
  for (std::uint32_t table = 0; table < kTables; ++table) {
    const Id made = (Id{kThreads} + 1) << 56U | (table + 1);
    world_.tables[table].schema = world_.tables[table].made = made;
    world_.schemas[made];
  }
}

Mix Lives::any_mix() {
  Mix mix{.seed = seed_, .life = life_};
  Options& options = mix.options;
  options.page_bytes = page_bytes_;
  options.memory_bytes = kPagesForRoots * page_bytes_ + random_.below(12) * kMiB;
  options.version_bytes_max = random_.one_in(3) ? kMiB : 0;
  options.log_bytes_max = (random_.one_in(3) ? 16 : 32) * kMiB;
  options.durability = random_.one_in(2) ? Durability::synchronous : Durability::asynchronous;
  options.recovery_threads = 1 + random_.below(2);
  options.autocommit_patience = Milliseconds(5 + random_.below(50));
  options.definition_patience = Milliseconds(5 + random_.below(50));
  options.use_io_uring = !random_.one_in(4);
  mix.copy = place_.directory + "/copy";
  if (place_.disk_bytes != 0) {
    mix.is_small_disk = true;
    mix.disk_bytes = place_.disk_bytes;
    mix.ballast = place_.directory + "/ballast";
  }
  return mix;
}

// Processes

Lives::Ended Lives::process(const Body& body, Milliseconds until_kill) {
  for (CallInProgress& call : (*shared_)->calls) {
    call.what = nullptr;  // of a process that was killed
  }
  const auto kill_at = SteadyClock::now() + until_kill;
  const pid_t child = ::fork();
  if (child < 0) {
    return {.what = "no process can be started"};
  }
  if (child == 0) {
    try {
      body();
    } catch (const Error& error) {
      (*shared_)->fail(fmt::format("{}: {}", name_of(error.code()), error.what()));
    } catch (const std::exception& error) {
      (*shared_)->fail(error.what());
    }
    ::_exit((*shared_)->is_failed ? EXIT_FAILURE : EXIT_SUCCESS);
  }
  Ended ended = watch(child, kill_at);
  if (ended.what.empty() && (*shared_)->is_failed) {
    ended.what = (*shared_)->failure.data();
  }
  if (ended.what.empty() && ended.status != EXIT_SUCCESS && ended.status != -SIGKILL) {
    ended.what = fmt::format("the process has ended with {}", ended.status);
  }
  return ended;
}

Lives::Ended Lives::watch(pid_t child, SteadyClock::time_point kill_at) {
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status)};
    }
    std::string hanging = hanging_call();
    if (!hanging.empty() || SteadyClock::now() >= kill_at) {
      if (!hanging.empty() && std::getenv("PALIMPSEST_EVERYTHING_STOP") != nullptr) {
        fmt::print("process {} hangs: {}\n", child, hanging);
        std::fflush(stdout);
        ::waitpid(child, &status, 0);
      }
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
              .what = std::move(hanging)};
    }
    sleep_until_polled(kWatchEach);
  }
}

std::string Lives::hanging_call() const {
  const std::int64_t now = now_ns();
  const auto is_long = [&](const CallInProgress& call) {
    return call.what.load() != nullptr &&
           std::chrono::nanoseconds(now - call.since_ns.load()) > kHangs;
  };
  if (std::ranges::none_of((*shared_)->calls, is_long)) {
    return "";
  }
  std::string text = "hangs:";
  for (std::size_t number = 0; number < (*shared_)->calls.size(); ++number) {
    const CallInProgress& call = (*shared_)->calls[number];
    if (call.what.load() != nullptr) {
      text += fmt::format(" thread {} (id {}) in \"{}\" for {} ms;", number, call.thread_id.load(),
                          call.what.load(), (now - call.since_ns.load()) / 1'000'000);
    }
  }
  return text;
}

// Living

void Lives::make() {
  Options options = any_mix().options;
  Database database = open_database(path_, options);
  for (std::uint32_t table = 0; table < kTables; ++table) {
    database.create_table(first_schema(table_name(table), world_.tables[table].made));
  }
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    database.create_table(marker_schema(thread, false));
    database.create_table(marker_schema(thread, true));
  }
  database.create_table(key_value_table(kProbe));
  database.close();
}

void Lives::live(const Mix& mix, Milliseconds duration) {
  Shared& shared = **shared_;
  const auto end = SteadyClock::now() + duration;
  CallInProgress& slot = shared.calls[kThreads];
  std::optional<Database> database;
  {
    const Call opening(slot, "open");
    database.emplace(open_database(path_, mix.options));
  }
  Life life{.database = *database, .mix = mix, .world = world_, .shared = shared};
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        try {
          Worker(life, thread).run();
        } catch (const std::exception& error) {
          shared.fail(error.what());
          ::_exit(EXIT_FAILURE);
        }
      });
    }
    while (SteadyClock::now() < end) {
      sleep_until_polled(kWatchEach);
    }
    life.ends = true;
  }
  const Call closing(slot, "close");
  database->close();
}

// Looking

void Lives::judge(const std::string& path, const Options& options, Positions lower, Positions upper,
                  bool has_room) {
  Shared& shared = **shared_;
  const Call judging(shared.calls[kThreads], options.read_only ? "judge read-only" : "judge");
  Database database = open_database(path, options);
  const std::string what = judged({.database = database}, world_, shared,
                                  {.lower = lower, .upper = upper}, shared.found);
  if (!what.empty()) {
    throw std::runtime_error(
        fmt::format("{}{}: {}", path, options.read_only ? ", opened to be read" : "", what));
  }
  if (has_room && !options.read_only) {  // whatever has filled the disk before
    const std::string bytes(kProbeBytes, 'p');
    database.table(kProbe).upsert({"probe", bytes}).require();
    database.table(kProbe).erase({"probe"}).require();
  }
  database.close();
}

/// Trees, pages, definitions and indexes agree.
void Lives::audit() const {
  const Call auditing((*shared_)->calls[kThreads], "check");
  const auto device = io::open_device(path_, {.log = {}});
  engine::EngineOptions options;
  options.background_threads = false;
  const auto database = engine::Engine::open(*device, *device, options);
  if (const auto sound = engine::test::sound(*database); !sound) {
    throw std::runtime_error(fmt::format("check: {}", sound.message()));
  }
  database->close();
}

std::string Lives::look(bool is_closed) {
  const Bounds bounds = Bounds::after(**shared_, is_closed);
  bool has_room = place_.disk_bytes == 0;
  const auto each = [&](const Options& options) {
    return process([&] { judge(path_, options, bounds.lower, bounds.upper, has_room); }, kNever)
        .what;
  };
  if (random_.one_in(2)) {
    Options options = any_mix().options;
    options.memory_bytes = 64 * kMiB;
    options.read_only = true;
    if (std::string what = each(options); !what.empty()) {
      return what;
    }
  }
  if (place_.disk_bytes != 0 && random_.one_in(2)) {
    resize_ballast(place_.directory + "/ballast", 0);
    has_room = (*shared_)->backup == 0;  // a copy takes some
  }
  if (std::string what = each(any_mix().options); !what.empty()) {
    return what;
  }
  if (std::string what = look_at_copy(); !what.empty()) {
    return what;
  }
  world_ = advanced(world_, **shared_, (*shared_)->found, std::nullopt);
  return random_.one_in(4) ? process([&] { audit(); }, kNever).what : "";
}

std::string Lives::look_at_copy() {
  const std::string path = place_.directory + "/copy";
  const int state = (*shared_)->backup;
  if (state == 0) {
    return "";
  }
  const Positions lower = (*shared_)->backup_lower;
  const Positions upper =
      state == kBackupMade ? (*shared_)->backup_upper : Bounds::after(**shared_, false).upper;
  Options options = any_mix().options;
  options.create_if_missing = false;
  if (place_.disk_bytes != 0) {
    resize_ballast(place_.directory + "/ballast", 0);
  }
  const auto look = [&] {
    try {
      judge(path, options, lower, upper, place_.disk_bytes == 0);
    } catch (const Error& error) {
      const bool is_none =
          error.code() == ErrorCode::not_found || error.code() == ErrorCode::not_a_database;
      if (state == kBackupMade || !is_none) {
        throw;
      }
    }
    if (state == kBackupFailed && std::filesystem::exists(path)) {
      throw std::runtime_error("a backup that failed has left something");
    }
  };
  const Positions found = (*shared_)->found;
  std::string what = process(look, kNever).what;
  (*shared_)->found = found;
  copies_ += state == kBackupMade ? 1U : 0U;
  std::filesystem::remove_all(path);
  return what;
}

std::string Lives::round() {
  if (life_++ == 0) {
    if (std::string what = process([&] { make(); }, kNever).what; !what.empty()) {
      return what;
    }
  }
  shared_ = std::make_unique<SharedMemory>();
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    (*shared_)->threads[thread].before = world_.numbers[thread];
  }
  const Mix mix = any_mix();
  const Milliseconds until_kill(1 + random_.below(random_.one_in(8) ? 3000 : 400));
  const bool is_killed = !random_.one_in(10);
  const Milliseconds duration = is_killed && !random_.one_in(5) ? kNever : until_kill;
  const Ended ended = process([&] { live(mix, duration); }, is_killed ? until_kill : kNever);
  if (!ended.what.empty()) {
    return ended.what + story();
  }
  killed_ += ended.status == -SIGKILL ? 1U : 0U;
  if (random_.one_in(3)) {
    const Options options = any_mix().options;
    const Ended recovered =
        process([&] { open_database(path_, options).close(); }, Milliseconds(random_.below(40)));
    if (!recovered.what.empty()) {
      return "recovering: " + recovered.what;
    }
    killed_recovering_ += recovered.status == -SIGKILL ? 1U : 0U;
  }
  std::string what = look(ended.status == EXIT_SUCCESS);
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    const ThreadJournal& journal = (*shared_)->threads[thread];
    transactions_ += journal.count;
    for (std::uint32_t at = 0; at < journal.count; ++at) {
      given_up_ += journal.entries[at].outcome == CommitOutcome::given_up ? 1U : 0U;
    }
  }
  for (std::size_t number = 0; number < counts_.size(); ++number) {
    counts_[number] += (*shared_)->counts[number];
  }
  return what.empty() ? "" : what + story();
}

/// What each thread did last.
std::string Lives::story() const {
  std::string text;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    const ThreadJournal& journal = (*shared_)->threads[thread];
    text += fmt::format("\n  thread {}:", thread);
    const std::uint64_t last = journal.last();
    for (std::uint64_t number = std::max(journal.before, last < 6 ? 0 : last - 6) + 1;
         number <= last; ++number) {
      const Entry& entry = journal.at(number);
      text += fmt::format(" {} {}{} ({} steps, {});", number, entry.is_durable ? "durable " : "",
                          entry.what, entry.steps_end - entry.steps_begin,
                          entry.outcome == CommitOutcome::acknowledged ? "acknowledged"
                          : entry.outcome == CommitOutcome::given_up   ? "given up"
                          : entry.outcome == CommitOutcome::announced  ? "announced"
                                                                       : "open");
    }
  }
  return text;
}

std::string Lives::summary() const {
  std::string text = fmt::format(
      "{} lives, {} of them killed, {} killed while recovering; {} copies; {} transactions, {} "
      "of them given up; {} rows\n",
      life_, killed_, killed_recovering_, copies_, transactions_, given_up_, world_.rows());
  for (std::size_t number = 0; number < statement_count(); ++number) {
    text += fmt::format("{}: {}; ", statement_name(number), counts_[number]);
  }
  for (std::size_t number = 0; number < Activities::count(); ++number) {
    text += fmt::format("{}: {}; ", Activities::name(number), counts_[32 + number]);
  }
  return text;
}

}  // namespace palimpsest::everything
