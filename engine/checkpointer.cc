#include "engine/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/futex.h"
#include "base/start_thread.h"
#include "base/sync_point.h"
#include "engine/recovery/checkpoint_note.h"

namespace palimpsest::engine {
namespace {

/// A cycle begins when the log has grown by a stride, which is the bound divided by this, and ends
/// after another stride.
constexpr std::uint64_t kStridesPerBound = 8;
/// A cycle writes up to a mark this many strides back, or a little more. Of the other three, one is
/// growing when the cycle ends, one more when the next cycle ends, and one is for delays.
constexpr std::uint32_t kStridesUnwritten = kStridesPerBound - 3;
/// A page that changes all the time is written in one of this many cycles: before it becomes old,
/// even when cycles are a little late; otherwise it would be written twice as often.
constexpr std::uint32_t kCyclesOfPage = kStridesUnwritten;
/// Checkpoints lag when they are as many strides late.
constexpr std::uint64_t kStridesOfLag = kStridesPerBound / 4;
constexpr auto kPauseInCycle = std::chrono::milliseconds(5);
constexpr auto kPauseBetween = std::chrono::milliseconds(50);
constexpr auto kPauseAfterError = std::chrono::milliseconds(100);
/// Failed attempts in a row before threads that wait for log space get an error: two seconds.
constexpr unsigned kFailuresMax = 20;
/// A slice is a batch of the page writer, unless the cycle is nearly over.
constexpr std::size_t kSlicePagesMin = 16;

}  // namespace

Checkpointer::Checkpointer(wal::Log& log, Clock& clock, WorkerSlots& slots,
                           buffer::BufferPool& pool, txn::Transactions& transactions,
                           const CheckpointerOptions& options)
    : log_(log),
      clock_(clock),
      slots_(slots),
      pool_(pool),
      transactions_(transactions),
      options_(options) {
  if (options.background) {
    thread_ = start_thread("that makes checkpoints", [this] { work(); });
  }
}

Checkpointer::~Checkpointer() {
  stop();
}

void Checkpointer::stop() noexcept {
  stopping_.store(true);
  signal_.fetch_add(1);
  futex_wake_all(signal_);
  if (thread_.joinable()) {
    thread_.join();
  }
}

// The cycle

// A mark's start lies behind every record appended before it was taken; the slots' GSNs, read after
// that, are no smaller than those of these records (invariant 2).
void Checkpointer::begin_cycle(bool writes_all) {
  if (log_.is_waited_for()) {
    log_.wait_durable(newest_gsn());  // records not in the stream yet would lie behind the mark
  }
  const wal::LogStart start = log_.current_start();
  std::vector<wal::LogMark> marks = log_.take_marks(start);
  PALIMPSEST_SYNC_POINT("engine.checkpoint.started");
  const Gsn newest = newest_gsn();
  log_.wait_durable(newest);  // invariant 4
  marks.push_back({.start = start, .newest = newest});
  const buffer::PageAge age = pool_.begin_age();  // not earlier: invariants 1 and 4
  for (const wal::LogMark& mark : marks) {
    marks_.push_back({mark, age});
  }
  lower_marks();
  reach_ = writes_all ? age : age_in_reach();
  frames_ = pool_.unwritten_frames(
      {.before = reach_, .turn = age.number() % kCyclesOfPage, .turns = kCyclesOfPage});
  next_frame_ = 0;
  in_the_way_ = log_.is_waited_for() ? transactions_.oldest() : txn::DeferredFrees::kNone;
  in_cycle_ = true;
}

// What lies before a mark lies before later ones, too. A cycle's mark may have a `newest` far above
// those of later marks if the log grew much while it was taken.
void Checkpointer::lower_marks() noexcept {
  Gsn least = marks_.back().log.newest;
  for (Mark& mark : marks_ | std::views::reverse) {
    least = std::min(least, mark.log.newest);
    mark.log.newest = least;
  }
}

// The age of the oldest mark that is not too far back; the cycle's own mark is one. When cycles are
// late, that is the mark of fewer cycles ago.
buffer::PageAge Checkpointer::age_in_reach() const noexcept {
  const std::uint64_t back = (kStridesUnwritten + 1) * stride_bytes();
  const auto mark =
      std::ranges::find_if(marks_, [&](const Mark& one) { return grown_since(one.log) < back; });
  return mark == marks_.end() ? marks_.back().age : mark->age;
}

Gsn Checkpointer::newest_gsn() noexcept {
  clock_.raise(slots_.newest_gsn());
  return clock_.now();
}

void Checkpointer::write_slice(std::size_t pages) {
  const std::size_t count = std::min(pages, frames_.size() - next_frame_);
  pool_.write(std::span(frames_).subspan(next_frame_, count));
  next_frame_ += count;
  pages_.fetch_add(count, std::memory_order_relaxed);
}

void Checkpointer::finish_cycle() {
  pool_.space().flush(pool_.writer());
  pool_.writer().harden();
  in_cycle_ = false;
  while (reached_ < marks_.size() && !reach_.is_before(marks_[reached_].age)) {
    ++reached_;
  }
  cycles_.fetch_add(1, std::memory_order_relaxed);
  transactions_.free_due();
  const bool gave_space = move_start();
  log_to(options_.log, LogLevel::debug, component::kCheckpoint, "a checkpoint has ended",
         {{"pages", std::uint64_t{frames_.size()}},
          {"replay_bytes", log_.replay_bytes()},
          {"moved_start", gave_space}});
  if (is_failing_.exchange(false)) {
    log_to(options_.log, LogLevel::info, component::kCheckpoint, "checkpoints work again");
  }
  if (!gave_space && log_.is_waited_for()) {
    cancel_oldest();
  }
}

// Cancels the oldest transaction if it has been in the way for a whole cycle. Of several that are
// equally old, one may be enough.
void Checkpointer::cancel_oldest() {
  const Gsn oldest = transactions_.oldest();
  if (in_the_way_ != txn::DeferredFrees::kNone && oldest <= in_the_way_) {
    cancelled_.fetch_add(
        transactions_.cancel_older_than(oldest, 1) + transactions_.cancel_snapshots_for(oldest),
        std::memory_order_relaxed);
  }
}

// No cycle is under way. Returns whether that freed log space, or will soon.
bool Checkpointer::move_start() {
  const Gsn oldest = transactions_.oldest();
  PALIMPSEST_SYNC_POINT("engine.checkpoint.oldest_known");
  log_.wait_durable(newest_gsn());  // invariant 3
  std::size_t usable = 0;
  while (usable < reached_ && marks_[usable].log.newest <= oldest) {
    ++usable;
  }
  if (usable == 0) {
    return false;
  }
  const wal::LogMark mark = marks_[usable - 1].log;
  reached_ -= usable - 1;
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(usable - 1));
  return log_.move_start(
      mark.start, encode_checkpoint_note({.clock = clock_.now(), .replayed_up_to = mark.newest}),
      false);
}

std::uint64_t Checkpointer::grown_since(const wal::LogMark& mark) const noexcept {
  return log_.end_position() - raw(mark.start.position);
}

std::uint64_t Checkpointer::stride_bytes() const noexcept {
  return std::max<std::uint64_t>(options_.replay_bytes_max / kStridesPerBound, 1);
}

bool Checkpointer::cycle_is_due() const noexcept {
  const std::uint64_t step = stride_bytes();
  return marks_.empty() ? log_.replay_bytes() >= step : grown_since(marks_.back().log) >= step;
}

// In step with the log: writes the share of the pages that the log has used of its stride.
std::size_t Checkpointer::pages_due() const noexcept {
  const std::size_t left = frames_.size() - next_frame_;
  if (filling_.load(std::memory_order_relaxed)) {
    return std::min(left, pool_.writer().batch_pages());
  }
  const std::uint64_t step = stride_bytes();
  const std::uint64_t grown = std::min(grown_since(marks_.back().log), step);
  const auto target = static_cast<std::size_t>(
      static_cast<double>(frames_.size()) * static_cast<double>(grown) / static_cast<double>(step));
  const std::size_t due = target - std::min(target, next_frame_);
  const std::size_t worth = std::min(left, kSlicePagesMin);
  return due < worth ? 0 : std::min({due, left, pool_.writer().batch_pages()});
}

// Asks transactions to end that keep half the log from being reused.
void Checkpointer::cancel_old() {
  const std::uint64_t allowed = log_.capacity_bytes() / 2;
  Gsn newest{0};
  for (const Mark& mark : marks_) {
    if (grown_since(mark.log) > allowed) {
      newest = mark.log.newest;
    }
  }
  if (raw(newest) != 0 && transactions_.oldest() < newest) {
    const Gsn too_old{raw(newest) - 1};
    cancelled_.fetch_add(
        transactions_.cancel_older_than(too_old) + transactions_.cancel_snapshots_for(too_old),
        std::memory_order_relaxed);
  }
}

// After a permanent failure of the page file, no checkpoint ends, and the log would fill up while
// its users wait: so the log is made to fail.
void Checkpointer::require_working() {
  try {
    pool_.writer().require_working();
  } catch (const Error& error) {
    log_.fail(error.what());
    throw;
  }
}

bool Checkpointer::step() {
  const std::lock_guard lock(cycle_mutex_);
  require_working();
  report_lag();
  transactions_.version_memory().keep_room();
  transactions_.free_due();
  cancel_old();
  const bool filling = filling_.load(std::memory_order_relaxed);
  if (filling && in_cycle_ && reach_ != marks_.back().age) {
    in_cycle_ = false;  // it would not free enough
  }
  if (!in_cycle_) {
    if (!filling && !cycle_is_due()) {
      return false;
    }
    begin_cycle(filling || log_.is_waited_for());
    return true;
  }
  const std::size_t due = pages_due();
  if (next_frame_ < frames_.size()) {
    write_slice(due);
    return due != 0;
  }
  if (filling) {
    filling_.store(false, std::memory_order_relaxed);  // set again if the log is still filling
  }
  finish_cycle();
  return true;
}

void Checkpointer::run() {
  const std::lock_guard lock(cycle_mutex_);
  if (in_cycle_) {  // its mark remains usable once the next cycle has ended
    in_cycle_ = false;
  }
  begin_cycle(true);
  write_slice(frames_.size());
  finish_cycle();
}

void Checkpointer::run_clean() {
  run();
  const std::lock_guard lock(cycle_mutex_);
  log_.wait_durable(newest_gsn());
  transactions_.free_pending();
  check(transactions_.oldest() == txn::DeferredFrees::kNone,
        "no deferred free is pending after the last checkpoint");
  log_.wait_durable(newest_gsn());
  pool_.flush();
  pool_.space().flush(pool_.writer());
  pool_.writer().harden();
  marks_.clear();
  reached_ = 0;
  const wal::LogStart start = log_.current_start();
  const Gsn newest = newest_gsn();
  log_.move_start(start, encode_checkpoint_note({.clock = newest, .replayed_up_to = newest}), true);
}

// The background thread

// Reported when recovery would take a quarter longer than it should, and when it would not any
// more.
void Checkpointer::report_lag() noexcept {
  const std::uint64_t bytes = log_.replay_bytes();
  const std::uint64_t bound = options_.replay_bytes_max;
  if (!is_late_ && bytes > bound + kStridesOfLag * stride_bytes()) {
    is_late_ = true;
    log_to(options_.log, LogLevel::warning, component::kCheckpoint,
           "checkpoints lag behind the log: recovery would take longer than it should",
           {{"replay_bytes", bytes},
            {"replay_bytes_max", bound},
            {"pages_unwritten", std::uint64_t{frames_.size() - next_frame_}},
            {"log_is_waited_for", log_.is_waited_for()}});
  } else if (is_late_ && bytes <= bound) {
    is_late_ = false;
    log_to(options_.log, LogLevel::info, component::kCheckpoint, "checkpoints have caught up",
           {{"replay_bytes", bytes}});
  }
}

void Checkpointer::log_is_filling() noexcept {
  if (!filling_.exchange(true)) {
    signal_.fetch_add(1);
    futex_wake_all(signal_);
  }
}

bool Checkpointer::try_step() noexcept {
  try {
    const bool worked = step();
    failures_ = 0;
    const std::lock_guard lock(error_mutex_);
    last_error_.clear();
    return worked;
  } catch (const std::exception& error) {
    if (!is_failing_.exchange(true)) {
      log_to(options_.log, LogLevel::warning, component::kCheckpoint,
             "a checkpoint failed: the log grows until one succeeds",
             {{"cause", std::string_view(error.what())}});
    }
    if (++failures_ >= kFailuresMax && log_.is_waited_for()) {
      log_.fail(std::string("the log is full, and checkpoints fail: ") + error.what());
    }
    {
      const std::lock_guard lock(error_mutex_);
      last_error_ = error.what();
    }
    futex_wait_for(signal_, signal_.load(), kPauseAfterError);
    return false;
  }
}

void Checkpointer::work() {
  while (!stopping_.load()) {
    const std::uint32_t seen = signal_.load();
    if (try_step() || stopping_.load()) {
      continue;
    }
    bool in_cycle = false;
    {
      const std::lock_guard lock(cycle_mutex_);
      in_cycle = in_cycle_;
    }
    futex_wait_for(signal_, seen, in_cycle ? kPauseInCycle : kPauseBetween);
  }
}

CheckpointStatistics Checkpointer::statistics() const noexcept {
  return {.cycles = cycles_.load(std::memory_order_relaxed),
          .pages = pages_.load(std::memory_order_relaxed),
          .cancelled = cancelled_.load(std::memory_order_relaxed)};
}

std::string Checkpointer::last_error() const {
  const std::lock_guard lock(error_mutex_);
  return last_error_;
}

}  // namespace palimpsest::engine
