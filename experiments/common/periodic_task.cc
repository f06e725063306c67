#include "experiments/common/periodic_task.h"

#include <utility>

namespace palimpsest::experiments {

PeriodicTask::PeriodicTask(std::chrono::milliseconds every, std::function<void()> task)
    : every_(every), task_(std::move(task)), thread_([this] { run(); }) {}

PeriodicTask::~PeriodicTask() {
  end();
}

void PeriodicTask::stop() {
  end();
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void PeriodicTask::run() noexcept {
  try {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, every_, [this] { return stopping_; })) {
      lock.unlock();
      task_();
      lock.lock();
    }
  } catch (...) {
    error_ = std::current_exception();
  }
}

void PeriodicTask::end() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace palimpsest::experiments
