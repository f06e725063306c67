#include "experiments/history/workload.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/history/items.h"

namespace palimpsest::experiments::history {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kWrongMax = 10;

/// How an attempt ended.
struct End {
  EventType type = EventType::ok;
  std::string reason{};  ///< unless it is ok
  bool is_wrong = false;
};

/// Whether an error means that the transaction is rolled back.
bool is_expected(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::conflict:
    case ErrorCode::snapshot_too_old:
    case ErrorCode::not_serializable:
    case ErrorCode::transaction_too_old:
    case ErrorCode::gate_timeout:
    case ErrorCode::too_many_transactions:
    case ErrorCode::version_budget_exceeded:
    case ErrorCode::out_of_memory:
    case ErrorCode::no_space: return true;
    default: return false;
  }
}

void wait(std::uint32_t pause_us) {
  if (pause_us == 1) {
    std::this_thread::yield();
  } else if (pause_us != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

void tell(const WorkloadOptions& options, const std::string& wrong) {
  if (options.on_wrong) {
    options.on_wrong(wrong);
  }
}

/// One thread of a workload, or the last reader.
class Worker {
 public:
  Worker(Database& database, const Items& items, Recorder& recorder, const WorkloadOptions& options)
      : database_(database),
        recorder_(recorder),
        options_(options),
        items_(items),
        process_(recorder.new_process()) {}

  /// Whether the thread should continue.
  bool run(const Plan& plan) {
    recorder_.record(EventType::invoke, process_, operations_of(plan, options_.mode));
    found_.clear();
    const End end = attempt(plan);
    recorder_.record(end.type, process_,
                     end.type == EventType::ok ? found_ : operations_of(plan, options_.mode));
    count(plan, end);
    if (end.type == EventType::info) {
      process_ = recorder_.new_process();
    }
    return !end.is_wrong && end.type != EventType::info;
  }
  [[nodiscard]] const Tally& tally() const noexcept { return tally_; }

 private:
  /// `sure`: commit() was not called yet, so the transaction cannot have committed.
  End attempt(const Plan& plan) {
    bool sure = true;
    try {
      const bool has_own_level =
          plan.is_bulk && (!plan.is_bulk_at_level || options_.isolation == Isolation::serializable);
      Transaction transaction =
          database_.begin({.isolation = has_own_level ? Isolation::by_default : options_.isolation,
                           .read_only = plan.read_only,
                           .bulk = plan.is_bulk});
      for (const Step& step : plan.steps) {
        wait(step.pause_us);
        if (const Outcome outcome = perform(transaction, step); !outcome) {
          transaction.rollback();
          return {.type = EventType::fail, .reason = outcome.is_conflict() ? "conflict" : "raced"};
        }
      }
      if (plan.rolls_back) {
        transaction.rollback();
        return {.type = EventType::fail};
      }
      sure = false;
      transaction.commit();
      return {};
    } catch (const Error& error) {
      const bool expected = is_expected(error.code());
      return {.type = sure || expected ? EventType::fail : EventType::info,
              .reason = expected ? std::string(name_of(error.code())) : error.what(),
              .is_wrong = !expected && error.code() != ErrorCode::failed};
    } catch (const WrongRow& error) {
      return {.type = EventType::fail, .reason = error.what(), .is_wrong = true};
    }
  }

  Outcome perform(Transaction& transaction, const Step& step) {
    if (!is_write(step.kind)) {
      items_.read(transaction, step, found_);
      return {};
    }
    found_.push_back(
        {.kind = options_.mode == Mode::list_append ? OperationKind::append : OperationKind::write,
         .key = step.keys.front(),
         .values = {step.value}});
    return items_.write(transaction, step);
  }

  void count(const Plan& plan, const End& end) {
    if (end.is_wrong && options_.isolation != Isolation::none) {
      tally_.wrong.push_back(fmt::format("process {}: {}", process_, end.reason));
      tell(options_, tally_.wrong.back());
    }
    if (end.type == EventType::ok) {
      ++tally_.ok;
      tally_.bulks += plan.is_bulk ? 1U : 0U;
    } else if (end.type == EventType::info) {
      ++tally_.unknown;
    } else if (end.reason.empty()) {
      ++tally_.rolled_back;
    } else {
      ++tally_.failed[end.is_wrong ? "wrong" : end.reason];
    }
  }

  Database& database_;
  Recorder& recorder_;
  const WorkloadOptions& options_;
  const Items& items_;
  std::int64_t process_;
  std::vector<Operation> found_;
  Tally tally_;
};

}  // namespace

std::uint64_t Tally::total() const {
  std::uint64_t sum = ok + rolled_back + unknown;
  for (const auto& [reason, count] : failed) {
    sum += count;
  }
  return sum;
}

void Tally::add(const Tally& other) {
  ok += other.ok;
  bulks += other.bulks;
  rolled_back += other.rolled_back;
  unknown += other.unknown;
  for (const auto& [reason, count] : other.failed) {
    failed[reason] += count;
  }
  for (const std::string& text : other.wrong) {
    if (wrong.size() < kWrongMax) {
      wrong.push_back(text);
    }
  }
  next_key = std::max(next_key, other.next_key);
}

std::string Tally::text() const {
  std::string text = fmt::format("{} transactions: {} committed, {} of them bulks, {} rolled back",
                                 total(), ok, bulks, rolled_back);
  for (const auto& [reason, count] : failed) {
    text += fmt::format(", {} {}", count, reason);
  }
  return text + (unknown == 0 ? "" : fmt::format(", {} unknown", unknown));
}

Tally run_workload(Database& database, Recorder& recorder, const Continuation& continuation,
                   const WorkloadOptions& options) {
  const Items items(database, options.mode);
  ActiveKeys keys(options.keys, continuation.key, continuation.value, options.writes_max);
  const auto end = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                            std::chrono::duration<double>(options.seconds));
  std::atomic<std::uint64_t> begun{0};
  std::mutex mutex;
  Tally tally;                 // guarded by mutex
  std::exception_ptr failure;  // guarded by mutex
  const auto body = [&](std::uint64_t number) {
    try {
      Worker worker(database, items, recorder, options);
      std::uint64_t mixed = options.seed + number * 1'000'003;
      Planner planner(keys, splitmix64(mixed), options.bulk_percent);
      while (SteadyClock::now() < end && begun.fetch_add(1) < options.transactions &&
             (worker.run(planner.next()) || options.isolation == Isolation::none)) {
      }
      const std::lock_guard lock(mutex);
      tally.add(worker.tally());
    } catch (const std::exception& error) {
      tell(options, error.what());
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(options.threads);
    for (std::uint64_t i = 0; i < options.threads; ++i) {
      threads.emplace_back(body, i);
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
  tally.next_key = keys.next_key() + kGroup;
  return tally;
}

Tally read_everything(Database& database, Recorder& recorder, const WorkloadOptions& options,
                      std::int64_t keys) {
  constexpr std::int64_t kKeysPerTransaction = 16;
  const Items items(database, options.mode);
  Worker worker(database, items, recorder, options);
  for (std::int64_t key = 0; key < keys; key += kKeysPerTransaction) {
    Plan plan{.read_only = true};
    Step& step = plan.steps.emplace_back(Step{.kind = StepKind::many});
    for (std::int64_t i = key; i < std::min(keys, key + kKeysPerTransaction); ++i) {
      step.keys.push_back(i);
    }
    if (!worker.run(plan)) {
      break;
    }
  }
  return worker.tally();
}

}  // namespace palimpsest::experiments::history
