// Threads that prepare, start together, work, and end: for a load, and for a run.
//
// Thread-safety: the crew belongs to one thread; functions for members are marked. Failure: an
// exception of a member ends the crew; join() throws the first one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace palimpsest::experiments {

class Crew {
 public:
  using Clock = std::chrono::steady_clock;
  /// The function of each member: prepares, calls start_together(), works until it is done or
  /// stopping() returns true. `number` counts the members from 0.
  using Body = std::function<void(Crew& crew, std::uint32_t number)>;

  /// Starts the threads; returns when all are prepared, or one has failed. `go` is still to be
  /// called.
  Crew(std::uint32_t threads, Body body);
  /// Stops and joins.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Lets the members work.
  void go();
  /// Waits until then, or until every member has ended, or one has failed: true.
  [[nodiscard]] bool wait_for_end(Clock::time_point until);
  /// Stops, waits for all members, throws the first error of any of them.
  void join();

  // For members.

  /// Returns when all may work.
  void start_together();
  /// Waits until then, or until the members must stop. Returns whether they go on.
  [[nodiscard]] bool rest_until(Clock::time_point until);
  [[nodiscard]] const std::atomic<bool>& stopping() const noexcept { return stopping_; }

 private:
  void run_member(std::uint32_t number) noexcept;
  void fail(std::exception_ptr error) noexcept;
  void stop_and_wait() noexcept;

  const Body body_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  ///< guards the four below
  std::uint32_t prepared_ = 0;
  std::uint32_t ended_ = 0;
  bool started_ = false;
  std::exception_ptr error_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace palimpsest::experiments
