// Writes fresh pages while their owner makes the next ones: a thread of its own seals and writes
// them, one piece of work after the other in the order in which they were begun. If no thread can
// be started, the owner does each piece at once.
//
// Latching: a mutex of its own, not held during I/O. A thread that waits here holds no latch. To
// make pages durable, the writing thread takes the page writer's mutex, and holds nothing else
// then.
// Thread-safety: belongs to one thread at a time.
// Failure: what PageWriter::write_fresh() and harden() throw is thrown by the next await(), or at
// once by begin() if there is no thread. Work begun behind a failed piece is not done: all pages
// begun and not awaited before are then undefined, and nothing is under way.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "buffer/page_writer.h"

namespace palimpsest::bulk {

class FreshWriter {
 public:
  /// The page writer outlives it.
  explicit FreshWriter(buffer::PageWriter& writer);
  FreshWriter(const FreshWriter&) = delete;
  FreshWriter& operator=(const FreshWriter&) = delete;
  /// As drop().
  ~FreshWriter();

  /// Begins to write pages. They stay valid until an await() has reported them written, or drop().
  void begin(std::span<const buffer::PageImage> pages);
  /// Begins to make durable what was begun before.
  void begin_harden();
  /// Waits until no more than the last `most` pieces that were begun are under way.
  void await(std::size_t most);
  /// Waits until nothing is under way. Work that was not awaited may be done or not; its failure is
  /// not reported.
  void drop() noexcept;

 private:
  /// Empty: make durable what was written.
  using Pages = std::span<const buffer::PageImage>;

  void put(Pages pages);
  void perform(Pages pages);
  void work() noexcept;

  buffer::PageWriter& writer_;
  std::mutex mutex_;
  std::condition_variable begun_;  ///< wakes the thread
  std::condition_variable done_;   ///< wakes the owner
  // Protected by mutex_:
  std::deque<Pages> under_way_;  ///< the first one is being done
  std::exception_ptr failure_;   ///< of the last piece done; then nothing more is done
  bool drops_ = false;           ///< pieces that were not started are not done
  bool ends_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace palimpsest::bulk
