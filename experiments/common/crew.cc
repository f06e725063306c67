#include "experiments/common/crew.h"

#include <utility>

namespace palimpsest::experiments {

Crew::Crew(std::uint32_t threads, Body body) : body_(std::move(body)) {
  threads_.reserve(threads);
  try {
    for (std::uint32_t number = 0; number < threads; ++number) {
      threads_.emplace_back([this, number] { run_member(number); });
    }
  } catch (...) {  // the system refuses more threads
    stop_and_wait();
    throw;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return prepared_ + ended_ >= threads || error_ != nullptr; });
}

Crew::~Crew() {
  stop_and_wait();
}

void Crew::go() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  changed_.notify_all();
}

bool Crew::wait_for_end(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until,
                             [&] { return ended_ == threads_.size() || error_ != nullptr; });
}

void Crew::join() {
  stop_and_wait();
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void Crew::start_together() {
  std::unique_lock lock(mutex_);
  ++prepared_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return started_ || stopping_.load(); });
}

bool Crew::rest_until(Clock::time_point until) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, until, [&] { return stopping_.load(); });
}

void Crew::run_member(std::uint32_t number) noexcept {
  try {
    body_(*this, number);
  } catch (...) {
    fail(std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  ++ended_;
  changed_.notify_all();
}

void Crew::fail(std::exception_ptr error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_) {
    error_ = std::move(error);
  }
  stopping_.store(true);
}

void Crew::stop_and_wait() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

}  // namespace palimpsest::experiments
