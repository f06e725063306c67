// Fresh pages that are written while their owner makes the next ones: by a thread of its own, which
// also seals them. Where the system starts no thread, they are written by their owner.
//
// Latching: a mutex of its own, not held during I/O. Whoever waits here holds no latch.
// Thread-safety: belongs to one thread.
// Failure: what PageWriter::write_fresh() throws, by the next call: all pages of the writer are
//          then undefined.
#pragma once

#include <condition_variable>
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
  /// Waits for what is under way.
  ~FreshWriter();

  /// Begins to write pages, when those of the call before have been written: these are the caller's
  /// again then. The pages stay until the next call has returned.
  void begin(std::span<const PageImage> pages);
  /// All pages have been written.
  void end();

 private:
  void work() noexcept;
  void await(std::unique_lock<std::mutex>& lock);

  PageWriter& writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_:
  std::span<const PageImage> pages_;  ///< that are being written; none: nothing is
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace palimpsest::buffer
