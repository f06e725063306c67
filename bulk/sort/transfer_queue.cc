#include "bulk/sort/transfer_queue.h"

#include "base/start_thread.h"

namespace palimpsest::bulk {

TransferQueue::TransferQueue(io::File& file, bool has_thread, std::size_t entries_max)
    : file_(file) {
  if (has_thread) {
    waiting_.reserve(entries_max);
    batch_.reserve(entries_max);
    transfers_.reserve(entries_max);
    thread_ = start_thread("that transfers what is sorted", [this] { work(); });
  }
}

TransferQueue::~TransferQueue() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
}

void TransferQueue::begin(Entry& entry, const io::Transfer& transfer) noexcept {
  entry.transfer = transfer;
  if (!thread_.joinable()) {
    file_.run({&entry.transfer, 1});
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    entry.is_under_way = true;
    waiting_.push_back(&entry);
  }
  changed_.notify_all();
}

void TransferQueue::wait_for(Entry& entry) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !entry.is_under_way; });
}

void TransferQueue::await(Entry& entry) {
  wait_for(entry);
  if (entry.transfer.error != 0) {
    file_.throw_error_of(entry.transfer);
  }
}

void TransferQueue::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    batch_.swap(waiting_);
    lock.unlock();
    for (const Entry* entry : batch_) {
      transfers_.push_back(entry->transfer);
    }
    file_.run(transfers_);
    lock.lock();
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      batch_[i]->transfer = transfers_[i];
      batch_[i]->is_under_way = false;
    }
    batch_.clear();
    transfers_.clear();
    changed_.notify_all();
  }
}

}  // namespace palimpsest::bulk
