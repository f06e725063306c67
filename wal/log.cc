#include "wal/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/futex.h"
#include "base/sync_point.h"
#include "wal/background_committer.h"

namespace palimpsest::wal {
namespace {

/// Credit is taken in steps, so that small transactions seldom touch the shared number. A step is a
/// share of the log, within bounds.
constexpr std::uint64_t kCreditStepDivisor = 256;
/// All idle slots together keep at most this share of the log.
constexpr std::uint64_t kIdleCreditDivisor = 4;
constexpr std::uint64_t kCreditStepBytesMin = std::uint64_t{4} << 10U;
constexpr std::uint64_t kCreditStepBytesMax = std::uint64_t{64} << 10U;
/// How long to wait after a round that could not state more: a thread is in the middle of an
/// append.
constexpr auto kFruitlessPause = std::chrono::microseconds(50);

std::int64_t signed_bytes(std::uint64_t bytes) noexcept {
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

struct Log::Pending {
  SlotLog* log = nullptr;
  SlotId slot{};
  Lsn from{};
  Lsn to{};
  Lsn in_batch{};          ///< end of what the current batch holds
  StreamPosition chunk{};  ///< position of that chunk
};

// Holds the round mutex: a round may run while this exists.
class Log::Turn {
 public:
  /// Locks the mutex if it is free.
  explicit Turn(Log& log) : log_(log), lock_(log.turn_, std::try_to_lock) {}
  Turn(Log& log, std::unique_lock<std::mutex> lock) : log_(log), lock_(std::move(lock)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  // The mutex is unlocked before the count rises: see follow().
  ~Turn() {
    if (lock_.owns_lock()) {
      lock_.unlock();
      log_.rounds_ended_.fetch_add(1);
      if (log_.followers_.load() != 0) {
        futex_wake_all(log_.rounds_ended_);
      }
    }
  }
  [[nodiscard]] bool is_ours() const noexcept { return lock_.owns_lock(); }

 private:
  Log& log_;
  std::unique_lock<std::mutex> lock_;
};

void Log::check_options(const LogOptions& options, const Segments& segments) {
  const bool ring_fits = std::has_single_bit(options.slot_log_bytes) &&
                         options.slot_log_bytes >= 2 * options.record_bytes_max;
  const bool batch_fits =
      options.batch_bytes_max <= kBatchBytesMax &&
      options.batch_bytes_max % kSegmentHeaderBytes == 0 &&
      options.batch_bytes_max >= 2 * chunk_bytes(options.record_bytes_max) &&
      options.batch_bytes_max + kSegmentHeaderBytes <= segments.segment_bytes() &&
      2 * chunk_bytes(options.record_bytes_max) + kSegmentHeaderBytes <=
          segments.first_segment_bytes();
  if (options.record_bytes_max > kRecordBytesMax || !ring_fits || !batch_fits) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("log options do not fit together: records of up to {} bytes (at most "
                            "{}), slot logs of {}, batches of {}, segments of {}",
                            options.record_bytes_max, kRecordBytesMax, options.slot_log_bytes,
                            options.batch_bytes_max, segments.segment_bytes()));
  }
}

// Behind the end lies a torn tail; its segments are wiped before their numbers are reused. The
// incarnation, and where it begins, are durable before its first batch: no two incarnations share a
// number, and batches that older ones left behind that position stay discarded.
std::unique_ptr<Log> Log::begin(LogStore& store, const LogEnd& end, Clock& clock,
                                WorkerSlots& slots, LogOptions options) {
  Segments& segments = store.segments();
  check_options(options, segments);
  store.harden(end);
  ControlState state = store.control().state();
  segments.keep_only(segments.number_of(state.start.position), segments.number_of(end.position));
  segments.make_all(LogStore::kSegmentsMin, true);
  const Incarnation incarnation{raw(std::max(state.incarnation, end.incarnation)) + 1};
  state.incarnation = incarnation;
  state.incarnation_begin = end.next_sequence;
  state.clean = false;
  store.control().write(state);
  return std::unique_ptr<Log>(new Log(store, end, incarnation, clock, slots, std::move(options)));
}

Log::Log(LogStore& store, const LogEnd& end, Incarnation incarnation, Clock& clock,
         WorkerSlots& slots, LogOptions options)
    : segments_(store.segments()),
      clock_(clock),
      slots_(slots),
      options_(std::move(options)),
      incarnation_(incarnation),
      space_(segments_, budget_, options_.on_filling),
      credit_step_bytes_(
          signed_bytes(std::min(std::clamp(space_.bytes_max() / kCreditStepDivisor,
                                           kCreditStepBytesMin, kCreditStepBytesMax),
                                space_.bytes_max() / (kIdleCreditDivisor * slots.slots_max())))),
      states_(std::make_unique<std::atomic<SlotState*>[]>(slots.slots_max())),
      stream_(segments_, end, incarnation, options_.batch_bytes_max, options_.record_bytes_max),
      marked_segment_(segments_.number_of(end.position)),
      replay_start_(store, space_),
      end_position_(raw(end.position)) {
  pending_.reserve(slots.slots_max());
  marks_.reserve(segments_.segments_max());
  const StreamPosition start{replay_start_.position()};
  const std::uint64_t used = raw(end.position) - raw(segments_.place_at(start).begin);
  budget_.add(signed_bytes(space_.bytes()) - signed_bytes(used));
}

Log::~Log() = default;

// Appending

Log::SlotState& Log::state_of(SlotId slot) {
  std::atomic<SlotState*>& place = states_[raw(slot)];
  SlotState* state = place.load(std::memory_order_acquire);
  if (state == nullptr) {
    const std::size_t more =
        raw(slot) < options_.first_slot_logs ? options_.first_slot_log_bytes : 0;
    auto made = std::make_unique<SlotState>(std::max(options_.slot_log_bytes, more),
                                            options_.record_bytes_max);
    const std::lock_guard lock(making_);
    owned_.push_back(std::move(made));
    state = owned_.back().get();
    place.store(state);
  }
  return *state;
}

void Log::reserve(SlotId slot, const LogNeed& need) {
  const bool reserved = try_reserve(slot, need, [] { return false; });
  check(reserved, "a reservation that cannot be given up succeeds");
}

Appended Log::append_commit(SlotId slot, Gsn at_least, RecordType type, ConstBytes payload,
                            FunctionRef<void(Gsn timestamp)> drawn) noexcept {
  WorkerSlot& worker = slots_[slot];
  SlotState& state = *states_[raw(slot)].load(std::memory_order_relaxed);
  static_cast<void>(worker.begin_append(at_least));
  PALIMPSEST_SYNC_POINT("wal.commit.marked");
  const Gsn timestamp = worker.draw_timestamp(clock_);
  drawn(timestamp);
  const Lsn lsn = state.log.append(type, timestamp, payload.size(), [&](MutableBytes into) {
    std::copy(payload.begin(), payload.end(), into.begin());
  });
  state.log.publish();
  worker.end_append();
  state.credit_bytes -= signed_bytes(record_bytes(timestamp, payload.size()));
  return {timestamp, lsn};
}

bool Log::has_at_hand(SlotId slot, const LogNeed& need) const noexcept {
  const SlotState* const state = states_[raw(slot)].load(std::memory_order_acquire);
  return state != nullptr && signed_bytes(need.credit_bytes) <= state->credit_bytes &&
         (need.goes_first || budget_.left() >= 0) && state->log.has_room(need.bytes) &&
         !failure_.has_happened();
}

bool Log::try_reserve(SlotId slot, const LogNeed& need, FunctionRef<bool()> give_up) {
  check(need.bytes <= options_.slot_log_bytes,
        "a record that is appended without waiting fits the ring");
  if (need.credit_bytes > space_.bytes_max()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a transaction needs {} bytes of log, but the log is limited to {}: "
                            "raise Options::log_bytes_max",
                            need.credit_bytes, space_.bytes_max()));
  }
  SlotState& state = state_of(slot);
  require_working();
  if (!state.log.has_room(need.bytes)) {
    wait_for_ring(state.log, need.bytes);
  }
  // Checked here because every commit reserves, and so does every caller that takes credit, which
  // is granted in steps.
  auto* const background = state.log.is_to_be_told() ? background_.load() : nullptr;
  if (background != nullptr) {
    background->hurry();
  }
  LogSpace::FullSince full_since;
  while (!take_credit(state, need)) {
    const std::int64_t missing = signed_bytes(need.credit_bytes) - state.credit_bytes;
    if (!space_.wait_for(full_since, std::max<std::int64_t>(missing, 0), give_up)) {
      return false;
    }
    require_working();
  }
  return true;
}

// Padding may have used up the budget: then only callers that make space (goes_first) go on. They
// may overdraw it: recovery undoes on a log as full as the crash left it, without the credit that
// was held for the undo; the stream then makes one more segment.
bool Log::take_credit(SlotState& state, const LogNeed& need) noexcept {
  const std::int64_t missing = signed_bytes(need.credit_bytes) - state.credit_bytes;
  if (missing <= 0) {
    return need.goes_first || budget_.left() >= 0;
  }
  for (const std::int64_t wanted : {std::max(missing, credit_step_bytes_), missing}) {
    if (budget_.take(wanted)) {
      state.credit_bytes += wanted;
      if (options_.on_filling && budget_.left() < signed_bytes(space_.bytes_max() / 2) &&
          segments_.is_at_bound()) {
        options_.on_filling();
      }
      return true;
    }
  }
  if (need.goes_first) {
    budget_.add(-missing);
    state.credit_bytes += missing;
  }
  return need.goes_first;
}

// Keeps a step of credit for the slot's next transaction, unless space is short.
void Log::release_credit(SlotId slot, std::size_t owed_bytes) noexcept {
  SlotState* state = states_[raw(slot)].load(std::memory_order_relaxed);
  if (state == nullptr) {
    return;
  }
  const bool short_of_space =
      budget_.left() < signed_bytes(space_.bytes_max() / kIdleCreditDivisor);
  const std::int64_t kept = signed_bytes(owed_bytes) + (short_of_space ? 0 : credit_step_bytes_);
  if (state->credit_bytes > kept) {
    budget_.add(state->credit_bytes - kept);
    state->credit_bytes = kept;
  }
}

void Log::move_credit(SlotId from, SlotId to, std::size_t bytes) noexcept {
  states_[raw(from)].load(std::memory_order_relaxed)->credit_bytes -= signed_bytes(bytes);
  states_[raw(to)].load(std::memory_order_relaxed)->credit_bytes += signed_bytes(bytes);
}

void Log::wait_for_ring(const SlotLog& log, std::size_t bytes) {
  while (!log.has_room(bytes)) {
    const std::uint32_t seen = rounds_ended_.load();
    const Turn turn(*this);
    if (turn.is_ours()) {
      run_round();
    } else {
      follow(seen);
    }
    require_working();
  }
}

void Log::read_back(SlotId slot, Lsn lsn, LogCursor& cursor, std::vector<std::byte>& into) const {
  const SlotLog& log = slot_log(slot);
  if (log.in_ring(lsn)) {
    const std::size_t bytes = log.record_bytes_at(lsn, log.end());
    check(bytes != 0 && bytes <= raw(log.end()) - raw(lsn),
          "an LSN names the beginning of a record");
    into.resize(bytes);
    log.read(lsn, into);
    return;
  }
  const auto record = cursor.find(segments_, slot, lsn, log.newest_chunk());
  into.assign(record.whole.begin(), record.whole.end());
}

// Durability

void Log::wait_durable(Gsn gsn) {
  while (durable_gsn() < gsn) {
    require_working();
    const std::uint32_t seen = rounds_ended_.load();
    bool stated_more = true;
    {
      const Turn turn(*this);
      if (turn.is_ours()) {
        stated_more = run_round();
      } else {
        follow(seen);
      }
    }
    if (!stated_more) {
      clock_.raise(gsn);
      std::this_thread::sleep_for(kFruitlessPause);
    }
  }
}

void Log::write_pending() {
  require_working();
  if (has_pending()) {
    const Turn turn(*this, std::unique_lock(turn_));
    run_round();
  }
}

bool Log::has_pending() const noexcept {
  if (needed_gsn_.load() > durable_gsn_.load()) {
    return true;
  }
  for (std::uint32_t slot = 0; slot < slots_.count(); ++slot) {
    const SlotState* state = states_[slot].load();
    if (state != nullptr && state->log.published() != state->log.taken()) {
      return true;
    }
  }
  return false;
}

// Sleeps until a round has ended since `seen` was read; another thread has held the mutex after
// that. That thread unlocks it before it raises rounds_ended_. So it either raises rounds_ended_
// from `seen` after we sleep, and wakes us, or has raised it before, and we do not sleep.
void Log::follow(std::uint32_t seen) noexcept {
  followers_.fetch_add(1);
  futex_wait(rounds_ended_, seen);
  followers_.fetch_sub(1);
}

void Log::require_working() const {
  if (failed()) {
    throw Error(ErrorCode::failed,
                fmt::format("the log has failed ({}); the database can be read, and must be "
                            "reopened to be written",
                            failure_.reason()));
  }
}

void Log::fail(std::string_view reason) noexcept {
  if (failure_.happen(reason)) {
    log_to(options_.messages, LogLevel::error, component::kLog,
           "the log has failed: the database can be read, and must be reopened to be written",
           {{"cause", reason}});
  }
}

// Rounds

template <class Call>
auto Log::run_or_fail(Call call) {
  require_working();
  try {
    return call();
  } catch (const std::exception& error) {
    fail(error.what());
    require_working();
    throw;
  }
}

// Caller holds the round mutex. Returns whether a higher durable GSN was stated.
bool Log::run_round() {
  return run_or_fail([&] {
    const Gsn stated = durable_gsn();
    const Gsn gsn = std::max(stated, compute_durable_gsn());
    PALIMPSEST_SYNC_POINT("wal.round.contributed");
    const std::size_t bytes = capture();  // only now: see worker_slots.h
    if (bytes == 0 && gsn == stated) {
      return false;
    }
    const Gsn newest = slots_.newest_gsn();  // no captured record is above it
    if (needs_pages_.exchange(false, std::memory_order_acq_rel)) {
      options_.harden_pages();
    }
    write_batches(bytes, gsn);
    mark_segment(newest);
    stream_.sync();
    PALIMPSEST_SYNC_POINT("wal.round.synced");
    durable_gsn_.store(raw(gsn), std::memory_order_release);
    rounds_.fetch_add(1, std::memory_order_relaxed);
    return gsn > stated;
  });
}

// C1 to C4 and C6 of worker_slots.h.
Gsn Log::compute_durable_gsn() noexcept {
  clock_.raise(slots_.newest_gsn());
  const Gsn now = clock_.now();
  const std::uint32_t count = slots_.count();
  Gsn gsn = now;
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    gsn = std::min(gsn, slots_[SlotId{slot}].contribute(now));
  }
  return gsn;
}

// C5: collects what each log holds that is not written. Returns the size of its chunks in bytes.
std::size_t Log::capture() noexcept {
  pending_.clear();
  first_pending_ = 0;
  std::size_t bytes = 0;
  Gsn newest{0};
  for (std::uint32_t slot = 0; slot < slots_.count(); ++slot) {
    SlotState* state = states_[slot].load(std::memory_order_acquire);
    if (state == nullptr) {
      continue;
    }
    const Lsn from = state->log.taken();
    const Lsn to = state->log.published();
    if (from != to) {
      pending_.push_back({.log = &state->log, .slot = SlotId{slot}, .from = from, .to = to});
      bytes += chunk_bytes(raw(to) - raw(from));
      newest = std::max(newest, slots_[SlotId{slot}].gsn());
    }
  }
  // Before any of it counts as taken: some of it may lie beyond the GSN of this round.
  needed_gsn_.store(std::max(needed_gsn_.load(), raw(newest)));
  return bytes;
}

// Only the batch that completes the round states the new GSN.
void Log::write_batches(std::size_t bytes, Gsn gsn) {
  const StreamPosition before = stream_.next().position;
  const std::uint64_t batches = stream_.batches();
  std::uint64_t record_bytes = 0;
  for (const Pending& pending : pending_) {
    record_bytes += raw(pending.to) - raw(pending.from);
  }
  do {
    stream_.begin_batch(bytes);
    const std::size_t end = fill_batch();
    const bool complete =
        end == pending_.size() && (end == 0 || pending_[end - 1].in_batch == pending_[end - 1].to);
    stream_.write_batch(complete ? gsn : durable_gsn());
    take_written(end);
  } while (first_pending_ < pending_.size());
  batches_.fetch_add(stream_.batches() - batches, std::memory_order_relaxed);
  account(before, record_bytes);
}

// Adds chunks as long as whole records fit. Logs before the returned index are in the batch, the
// last one perhaps in part.
std::size_t Log::fill_batch() noexcept {
  std::size_t index = first_pending_;
  for (; index < pending_.size(); ++index) {
    Pending& pending = pending_[index];
    pending.in_batch = pending.log->whole_records(pending.from, pending.to, stream_.room());
    if (pending.in_batch == pending.from) {
      break;
    }
    const std::size_t bytes = raw(pending.in_batch) - raw(pending.from);
    pending.log->copy_pending(pending.from, stream_.add_chunk(bytes));
    pending.chunk = stream_.seal_chunk(pending.slot, pending.from, pending.log->newest_chunk());
    if (pending.in_batch != pending.to) {
      return index + 1;
    }
  }
  return index;
}

// The batch is written: the rings may overwrite its records.
void Log::take_written(std::size_t end) noexcept {
  for (std::size_t index = first_pending_; index < end; ++index) {
    Pending& pending = pending_[index];
    pending.log->take(pending.in_batch, pending.chunk);
    pending.from = pending.in_batch;
    if (pending.from == pending.to) {
      first_pending_ = index + 1;
    }
  }
}

// Charges the padding to the budget: record bytes were paid for by credit, stream bytes are used.
void Log::account(StreamPosition before, std::uint64_t record_bytes) noexcept {
  const StreamPosition after = stream_.next().position;
  const std::uint64_t stream_bytes = raw(after) - raw(before);
  budget_.add(signed_bytes(record_bytes) - signed_bytes(stream_bytes));
  end_position_.store(raw(after), std::memory_order_release);
  record_bytes_.fetch_add(record_bytes, std::memory_order_relaxed);
  stream_bytes_.fetch_add(stream_bytes, std::memory_order_relaxed);
}

// `newest`: of the captured records. Replay cannot start in a segment that is not begun yet.
void Log::mark_segment(Gsn newest) noexcept {
  const LogStart start = stream_.next();
  const std::uint64_t segment = segments_.number_of(start.position);
  if (segment == marked_segment_ || !segments_.has(segment)) {
    return;
  }
  marked_segment_ = segment;
  if (marks_.size() == marks_.capacity()) {
    marks_.erase(marks_.begin());
  }
  clock_.raise(newest);
  marks_.push_back({.start = start, .newest = newest});
}

// Bounds

LogStart Log::current_start() {
  const Turn turn(*this, std::unique_lock(turn_));
  run_or_fail([&] { stream_.require_segment(); });
  return stream_.next();
}

std::vector<LogMark> Log::take_marks(const LogStart& end) {
  const Turn turn(*this, std::unique_lock(turn_));
  const auto behind = std::ranges::upper_bound(
      marks_, end.position, {}, [](const LogMark& mark) { return mark.start.position; });
  std::vector<LogMark> taken(marks_.begin(), behind);
  marks_.erase(marks_.begin(), behind);
  return taken;
}

bool Log::move_start(const LogStart& start, const std::string& note, bool clean) {
  return run_or_fail([&] { return replay_start_.move(start, note, clean); });
}

std::uint64_t Log::replay_bytes() const noexcept {
  const std::uint64_t start = replay_start_.position();
  return std::max(end_position(), start) - start;
}

std::uint64_t Log::capacity_bytes() const noexcept {
  return segments_.bytes_max();
}

LogStatistics Log::statistics() const noexcept {
  return {.rounds = rounds_.load(std::memory_order_relaxed),
          .batches = batches_.load(std::memory_order_relaxed),
          .record_bytes = record_bytes_.load(std::memory_order_relaxed),
          .stream_bytes = stream_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace palimpsest::wal
