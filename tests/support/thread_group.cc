#include "tests/support/thread_group.h"

#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"

namespace palimpsest::test {

void run_threads(std::size_t threads_count, const std::function<void(std::size_t)>& body) {
  std::latch begin(static_cast<std::ptrdiff_t>(threads_count));
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running_count = threads_count;  // guarded by mutex

  std::vector<std::jthread> threads;
  threads.reserve(threads_count);
  for (std::size_t i = 0; i < threads_count; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      body(i);
      const std::lock_guard lock(mutex);
      --running_count;
      ended.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  const bool all_ended =
      ended.wait_for(lock, std::chrono::seconds(kStuckSeconds), [&] { return running_count == 0; });
  check(all_ended, "threads of a test are stuck");
}

}  // namespace palimpsest::test
