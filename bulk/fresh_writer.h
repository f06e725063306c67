// Fresh pages that are written while their owner makes the next ones: by a thread of its own, which
// also seals them, one piece of work after the other in the order in which they were begun. Where
// the system starts no thread, each is done by its owner at once.
//
// Latching: a mutex of its own, not held during I/O. Whoever waits here holds no latch. The thread
//           takes the page writer's turn to make pages durable, and holds nothing then.
// Thread-safety: belongs to one thread at a time.
// Failure: what PageWriter::write_fresh() and harden() throw, by the next await(), or at once by
//          who begins if there is no thread. What was begun behind it is not done: all pages begun
//          and not awaited before are then undefined, and nothing is under way.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "buffer/page_writer.h"

namespace palimpsest::buffer {

class FreshWriter {
 public:
  /// The page writer outlives it.
  explicit FreshWriter(PageWriter& writer);
  FreshWriter(const FreshWriter&) = delete;
  FreshWriter& operator=(const FreshWriter&) = delete;
  /// As drop().
  ~FreshWriter();

  /// Begins to write pages. They stay until an await() has told that they are written, or drop().
  void begin(std::span<const PageImage> pages);
  /// Begins to make durable what was begun before.
  void begin_harden();
  /// Waits until no more than the last `most` that were begun are under way.
  void await(std::size_t most);
  /// Nothing is under way any more. What was not awaited may be written or not, and has not failed.
  void drop() noexcept;

 private:
  /// None: make durable what was written.
  using Pages = std::span<const PageImage>;

  void put(Pages pages);
  void perform(Pages pages);
  void work() noexcept;

  PageWriter& writer_;
  std::mutex mutex_;
  std::condition_variable begun_;  ///< for the thread
  std::condition_variable done_;   ///< for the owner
  // Protected by mutex_:
  std::deque<Pages> under_way_;  ///< the first one is being done
  std::exception_ptr failure_;   ///< of what was done last; then nothing more is done
  bool drops_ = false;           ///< what is not being done yet will not be
  bool ends_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace palimpsest::buffer
