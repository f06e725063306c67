#include "experiments/kv_bench/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace palimpsest::experiments {
namespace {

/// Separate seeds for choices that must not correlate with the draws.
constexpr std::uint64_t kScatterSeed = 0x5ca77e4;
constexpr std::uint64_t kLoadOrderSeed = 0x10ad04d;

void count_one(WorkerState& state) noexcept {
  state.ops.store(state.ops.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// One worker's operations on single records.
class PointOperations {
 public:
  PointOperations(KvSession& session, const Options& options)
      : session_(session), value_(options.value_bytes) {}

  void lookup(std::uint64_t record) {
    const RecordKey key(record);
    const std::optional<std::size_t> size = session_.lookup(key.view(), value_);
    if (!size) [[unlikely]] {
      throw DamagedRecord(fmt::format("lookup: record {} is missing", record));
    }
    if (*size != value_.size() || !has_stamp(record, value_.data(), *size)) [[unlikely]] {
      throw DamagedRecord(
          fmt::format("lookup: the value of record {} ({} bytes) is not as loaded", record, *size));
    }
  }

  void update(std::uint64_t record) {
    const RecordKey key(record);
    RecordChange change(record);
    if (!session_.update(key.view(), change)) [[unlikely]] {
      throw DamagedRecord(fmt::format("update: record {} is missing", record));
    }
    if (change.damaged()) [[unlikely]] {
      throw DamagedRecord(fmt::format("update: the value of record {} is not as loaded", record));
    }
  }

 private:
  KvSession& session_;
  std::vector<char> value_;
};

/// Calls `operation` until stop, timing every n-th call.
template <class Operation>
void repeat(const WorkerContext& context, WorkerState& state, Operation operation) {
  using Clock = std::chrono::steady_clock;
  std::uint32_t until_timed = 1;
  while (!context.stop.load(std::memory_order_relaxed)) {
    if (--until_timed != 0) {
      operation();
      continue;
    }
    until_timed = context.options.latency_every;
    const Clock::time_point start = Clock::now();
    operation();
    const auto elapsed = std::chrono::nanoseconds(Clock::now() - start);
    state.latency_ns.record(static_cast<std::uint64_t>(elapsed.count()));
  }
}

/// Another sequence for every run, phase and worker: a run that repeated its warm-up's draws would
/// find all of them in memory.
std::uint64_t seed_of(const WorkerContext& context) {
  return mix64(mix64(mix64(context.options.seed) + context.phase) + context.worker);
}

void scan_records(KvSession& session, const WorkerContext& context, WorkerState& state,
                  std::uint64_t first, std::uint64_t count) {
  if (count == 0) {
    return;
  }
  ScanSink sink(first, count, context.options.value_bytes, context.stop, state.ops);
  session.scan(RecordKey(first).view(), sink);
  sink.finish();
}

void operate_scans(KvSession& session, const WorkerContext& context, WorkerState& state) {
  const Options& options = context.options;
  if (options.scan_length > 0) {
    Random random(seed_of(context));
    repeat(context, state, [&] {
      const std::uint64_t first = context.chooser.choose(random, options.scan_length);
      scan_records(session, context, state, first, options.scan_length);
    });
    return;
  }
  const RecordRange range = range_of(options.records, context.worker, context.workers);
  if (range.first == range.last) {
    return;  // more workers than records
  }
  repeat(context, state,
         [&] { scan_records(session, context, state, range.first, range.last - range.first); });
}

}  // namespace

RecordChooser::RecordChooser(const Options& options)
    : records_(options.records),
      zipf_(options.distribution == Distribution::zipf),
      ranks_(options.records, options.theta),
      scatter_(options.records, kScatterSeed) {}

std::uint64_t RecordChooser::choose(Random& random, std::uint64_t length) const {
  const std::uint64_t record = zipf_ ? scatter_(ranks_(random)) : random.below(records_);
  return std::min(record, records_ - length);
}

RecordRange range_of(std::uint64_t records, std::uint32_t worker, std::uint32_t workers) noexcept {
  const std::uint64_t share = records / workers;
  const std::uint64_t larger = records % workers;  // the first `larger` workers take one more
  const std::uint64_t first = share * worker + std::min<std::uint64_t>(worker, larger);
  return {.first = first, .last = first + share + (worker < larger ? 1 : 0)};
}

void load_range(KvSession& session, const WorkerContext& context, WorkerState& state) {
  const Options& options = context.options;
  const Permutation shuffle(options.records, kLoadOrderSeed);
  const RecordRange range = range_of(options.records, context.worker, context.workers);
  std::vector<char> value(options.value_bytes);
  for (std::uint64_t position = range.first; position < range.last; ++position) {
    if (context.stop.load(std::memory_order_relaxed)) {
      return;
    }
    const std::uint64_t record =
        options.load_order == LoadOrder::random ? shuffle(position) : position;
    fill_value(record, value);
    session.insert(RecordKey(record).view(), {value.data(), value.size()});
    count_one(state);
  }
  session.finish_load();
}

void scan_range(KvSession& session, const WorkerContext& context, WorkerState& state) {
  const RecordRange range = range_of(context.options.records, context.worker, context.workers);
  scan_records(session, context, state, range.first, range.last - range.first);
}

void operate(KvSession& session, const WorkerContext& context, WorkerState& state) {
  const Options& options = context.options;
  if (options.mode == Mode::scan) {
    operate_scans(session, context, state);
    return;
  }
  const std::uint32_t update_percent = options.mode == Mode::lookup   ? 0
                                       : options.mode == Mode::update ? 100
                                                                      : options.update_percent;
  Random random(seed_of(context));
  PointOperations operations(session, options);
  repeat(context, state, [&] {
    const std::uint64_t record = context.chooser.choose(random, 1);
    if (update_percent != 0 && random.below(100) < update_percent) {
      operations.update(record);
    } else {
      operations.lookup(record);
    }
    count_one(state);
  });
}

}  // namespace palimpsest::experiments
