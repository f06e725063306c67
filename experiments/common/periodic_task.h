// A thread that calls a function periodically: it flushes a peer's log every few milliseconds, or
// checkpoints it, if the engine has no thread of its own for that.
//
// Thread-safety: one owner. Failure: an exception of the function ends the thread; stop() rethrows
// it.
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
  /// Calls `task` with a pause of `every` between the end of one call and the beginning of the
  /// next.
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
  std::thread thread_;        ///< last: it uses the other members
};

}  // namespace palimpsest::experiments
