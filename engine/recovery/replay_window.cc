#include "engine/recovery/replay_window.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "palimpsest/error.h"

#include "engine/recovery/progress.h"

namespace palimpsest::engine {

void ReplayWindow::make_room(std::size_t bytes) {
  constexpr std::size_t kBytesMax = std::numeric_limits<std::uint32_t>::max();  // limited by the
                                                                                // offsets
  if (used_ + bytes > kBytesMax) {
    throw Error(ErrorCode::out_of_memory,
                "more than 4 GiB of log without a durable GSN that covers it");
  }
  bodies_.resize(std::clamp(bodies_.size() + bodies_.size() / 2, used_ + bytes, kBytesMax));
}

void ReplayWindow::move_above(Gsn gsn, ReplayWindow& next) {
  if (newest_gsn_ <= gsn) {
    return;
  }
  for (std::size_t worker = 0; worker < items_.size(); ++worker) {
    std::erase_if(items_[worker], [&](const ReplayItem& item) {
      if (item.record.gsn <= gsn) {
        return false;
      }
      ReplayItem moved = item;
      moved.record.offset = next.add_body(body_of(item.record));
      next.add_item(worker, moved);
      return true;
    });
  }
}

void ReplayWindow::clear() noexcept {
  used_ = 0;
  newest_gsn_ = Gsn{0};
  for (auto& items : items_) {
    items.clear();
  }
}

WindowQueue::WindowQueue(std::size_t workers)
    : windows_(kWindows, ReplayWindow(workers)), done_(workers, 0) {}

std::uint64_t WindowQueue::done_by_all() const noexcept {
  return *std::ranges::min_element(done_);
}

template <class Ready>
void WindowQueue::wait_until(const Ready& ready, FunctionRef<void()> waiting) {
  std::unique_lock guard(mutex_);
  const auto ended = [&] { return failure_ != nullptr || ready(); };
  while (!done_changed_.wait_for(guard, kProgressInterval, ended)) {
    guard.unlock();
    waiting();
    guard.lock();
  }
  if (failure_ != nullptr) {
    std::rethrow_exception(failure_);
  }
}

ReplayWindow& WindowQueue::take_free(FunctionRef<void()> waiting) {
  wait_until([&] { return submitted_ - done_by_all() < kWindows; }, waiting);
  ReplayWindow& window = windows_[submitted_ % kWindows];
  window.clear();
  return window;
}

void WindowQueue::submit(std::uint64_t log_position) {
  const std::lock_guard guard(mutex_);
  positions_[submitted_ % kWindows] = log_position;
  ++submitted_;
  submitted_changed_.notify_all();
}

void WindowQueue::close() {
  const std::lock_guard guard(mutex_);
  closed_ = true;
  submitted_changed_.notify_all();
}

void WindowQueue::wait_finished(FunctionRef<void()> waiting) {
  wait_until([&] { return finished_ == done_.size(); }, waiting);
}

std::uint64_t WindowQueue::replayed() const {
  const std::lock_guard guard(mutex_);
  return replayed_;
}

const ReplayWindow* WindowQueue::next(std::size_t worker) {
  std::unique_lock guard(mutex_);
  submitted_changed_.wait(
      guard, [&] { return failure_ != nullptr || closed_ || done_[worker] < submitted_; });
  if (failure_ != nullptr || done_[worker] == submitted_) {
    return nullptr;
  }
  return &windows_[done_[worker] % kWindows];
}

void WindowQueue::done(std::size_t worker) {
  const std::lock_guard guard(mutex_);
  ++done_[worker];
  if (const std::uint64_t count = done_by_all(); count != 0) {
    // At most kWindows behind, since no more are submitted.
    replayed_ = std::max(replayed_, positions_[(count - 1) % kWindows]);
  }
  done_changed_.notify_all();
}

void WindowQueue::finished() {
  const std::lock_guard guard(mutex_);
  ++finished_;
  done_changed_.notify_all();
}

bool WindowQueue::failed() const {
  const std::lock_guard guard(mutex_);
  return failure_ != nullptr;
}

void WindowQueue::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard guard(mutex_);
  if (failure_ == nullptr) {
    failure_ = std::move(failure);
  }
  submitted_changed_.notify_all();
  done_changed_.notify_all();
}

}  // namespace palimpsest::engine
