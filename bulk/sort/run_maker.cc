#include "bulk/sort/run_maker.h"

#include <algorithm>

#include "base/check.h"
#include "base/start_thread.h"
#include "base/sync_point.h"
#include "bulk/sort/run_writer.h"
#include "bulk/sort/transfer_queue.h"

namespace palimpsest::bulk {

RunMaker::RunMaker(const SortShape& shape, SortMemory& memory, SortFile& file,
                   std::span<const Run> runs)
    : shape_(shape),
      blocks_(shape.block_bytes),
      file_(file),
      numbers_(runs.size()),
      writes_(!runs.empty()),
      runs_(runs.begin(), runs.end()) {
  for (std::size_t writer = 0; writer < std::max<std::size_t>(shape.threads, 1); ++writer) {
    write_memory_.push_back(memory.take(2 * shape.block_bytes, kSortAlignmentBytes));
  }
  slots_.reserve(shape.threads + 1);
  for (std::size_t buffer = 0; buffer <= shape.threads; ++buffer) {
    slots_.push_back({.buffer = SortBuffer(memory.take(shape.buffer_bytes, kSortAlignmentBytes))});
  }
  fill_next();
}

RunMaker::~RunMaker() {
  stop_threads();
}

// Called by the caller's thread:

void RunMaker::add(ByteView key, ByteView value) {
  if (filled_->buffer.add(key, value)) [[likely]] {
    return;
  }
  hand_over();
  fill_next();
  const bool fits = filled_->buffer.add(key, value);
  check(fits, "an empty buffer takes any record");
}

void RunMaker::hand_over() {
  const std::lock_guard lock(mutex_);
  filled_->state = State::full;
  filled_->number = ++numbers_;
  filled_ = nullptr;
  changed_.notify_all();
}

/// Makes a free buffer the one to be filled; if there is none, sorts or waits until one is written.
void RunMaker::fill_next() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (error_ != nullptr) {
      std::rethrow_exception(error_);
    }
    filled_ = oldest(State::free);
    if (filled_ != nullptr) {
      filled_->state = State::filled;
      filled_->buffer.clear();
      break;
    }
    writes_ = true;
    changed_.notify_all();
    work_or_wait(lock);
  }
  if (numbers_ != 0 && threads_.empty() && shape_.threads != 0) {
    lock.unlock();
    start_threads();
  }
}

void RunMaker::write_all() {
  if (filled_->buffer.records() == 0) {
    finish_transfers();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    writes_ = true;
  }
  hand_over();  // wakes the threads, for both changes
  PALIMPSEST_SYNC_POINT("sort.rows.handed_over");
  finish_transfers();
  fill_next();
}

/// Waits until all buffers handed over are sorted, and written if any are to be.
void RunMaker::finish_transfers() {
  if (writes_ && threads_.empty() && shape_.threads != 0) {  // only the caller's thread sets
                                                             // writes_
    start_threads();
  }
  std::unique_lock lock(mutex_);
  while (error_ == nullptr && !is_finished()) {
    work_or_wait(lock);
  }
  if (error_ != nullptr) {
    std::rethrow_exception(error_);
  }
}

/// The caller sorts as well; the blocks to write belong to the threads, if there are any.
void RunMaker::work_or_wait(std::unique_lock<std::mutex>& lock) {
  if (!do_one(lock, shape_.threads == 0 ? write_memory_.front() : MutableBytes())) {
    changed_.wait(lock);
  }
}

void RunMaker::finish() {
  if (filled_->buffer.records() != 0) {
    hand_over();
  }
  finish_transfers();
  stop_threads();
  if (!writes_) {
    std::ranges::sort(slots_, {}, &Slot::number);
    for (const Slot& slot : slots_) {
      if (slot.state == State::sorted) {
        sorted_.push_back(&slot.buffer);
      }
    }
  }
}

bool RunMaker::is_finished() const noexcept {
  return std::ranges::all_of(slots_, [&](const Slot& slot) {
    return slot.state == State::free || slot.state == State::filled ||
           (slot.state == State::sorted && !writes_);
  });
}

// Sorting and writing:

RunMaker::Slot* RunMaker::oldest(State state) noexcept {
  Slot* found = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state == state && (found == nullptr || slot.number < found->number)) {
      found = &slot;
    }
  }
  return found;
}

void RunMaker::start_threads() {
  try {
    threads_.reserve(shape_.threads);
    for (const MutableBytes blocks : write_memory_) {
      PALIMPSEST_SYNC_POINT("sort.thread.starts");
      threads_.push_back(start_thread("that sorts", [this, blocks] { work(blocks); }));
    }
  } catch (...) {  // perhaps in the constructor, after which nothing would end these threads
    stop_threads();
    error_ = std::current_exception();
    throw;
  }
}

void RunMaker::stop_threads() noexcept {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

void RunMaker::work(MutableBytes blocks) noexcept {
  std::unique_lock lock(mutex_);
  while (!ends_ && error_ == nullptr) {
    try {
      if (!do_one(lock, blocks)) {
        PALIMPSEST_SYNC_POINT("sort.thread.waits");
        changed_.wait(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) {
        lock.lock();
      }
      error_ = error_ != nullptr ? error_ : std::current_exception();
      changed_.notify_all();
    }
  }
}

/// Sorts a buffer, or writes one if that is due and there is memory for it. False if there is
/// nothing to do.
bool RunMaker::do_one(std::unique_lock<std::mutex>& lock, MutableBytes blocks) {
  if (Slot* const slot = writes_ && !blocks.empty() ? oldest(State::sorted) : nullptr) {
    slot->state = State::being_written;
    lock.unlock();
    const std::uint64_t bytes = blocks_.file_bytes(slot->buffer.stored_bytes());
    write(*slot, blocks, file_.take(bytes));
    lock.lock();
    slot->state = State::free;
  } else if (Slot* const full = oldest(State::full)) {
    full->state = State::being_sorted;
    lock.unlock();
    full->buffer.sort();
    lock.lock();
    full->state = State::sorted;
  } else {
    return false;
  }
  changed_.notify_all();
  return true;
}

void RunMaker::write(const Slot& slot, MutableBytes blocks, std::uint64_t offset) {
  const Run run{.number = slot.number,
                .offset_bytes = offset,
                .payload_bytes = slot.buffer.stored_bytes(),
                .records = slot.buffer.records()};
  TransferQueue queue(file_.file(), false, 1);
  RunWriter writer(queue, blocks_, run, blocks);
  for (std::size_t number = 0; number < run.records; ++number) {
    const SortBuffer::Record record = slot.buffer.record(number);
    writer.add(record.key, record.value);
  }
  writer.finish();
  PALIMPSEST_SYNC_POINT("sort.run.written");
  const std::lock_guard lock(mutex_);
  runs_.resize(std::max<std::size_t>(runs_.size(), run.number));
  runs_[run.number - 1] = run;
}

}  // namespace palimpsest::bulk
