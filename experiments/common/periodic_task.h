// A thread that calls a function again and again: what flushes a peer's log every few milliseconds,
// or checkpoints it, where the engine has no thread of its own for that.
//
// Thread-safety: one owner. Failure: what the function throws ends the thread and is thrown by
// stop().
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace palimpsest::experiments {

class PeriodicTask {
 public:
  /// Calls `task` `every` so often, counted from the end of one call to the beginning of the next.
  PeriodicTask(std::chrono::milliseconds every, std::function<void()> task);
  /// Ends the thread; an error that stop() has not thrown is dropped.
  ~PeriodicTask();
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  /// Waits for a call under way, ends the thread, throws what a call threw.
  void stop();

 private:
  void run() noexcept;
  void end() noexcept;

  const std::chrono::milliseconds every_;
  const std::function<void()> task_;
  std::mutex mutex_;  ///< guards stopping_
  std::condition_variable changed_;
  bool stopping_ = false;
  std::exception_ptr error_;  ///< written by the thread, read after it has ended
  std::thread thread_;        ///< last: the others are there when it starts
};

}  // namespace palimpsest::experiments
