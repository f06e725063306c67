// Transfers of one file that go on while their owner does something else, by a thread of its own.
//
// The thread takes all that wait together, as one batch of the device. Without the thread, each is
// done when it is begun.
// Latching: a mutex of its own, not held during I/O.
// Thread-safety: one thread begins and awaits; a transfer belongs to the queue in between.
// Failure: await() throws the Error of the transfer. Nothing else does but the constructor.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "base/io/device.h"

namespace palimpsest::engine {

class TransferQueue {
 public:
  struct Entry {
    io::Transfer transfer{};
    bool is_under_way = false;  ///< for the queue
  };

  /// `entries_max`: begun and not awaited at once. The file outlives it.
  TransferQueue(io::File& file, bool has_thread, std::size_t entries_max);
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;
  /// Waits for all that is under way.
  ~TransferQueue();

  [[nodiscard]] io::File& file() const noexcept { return file_; }

  void begin(Entry& entry, const io::Transfer& transfer) noexcept;
  /// Waits for it, if it is under way, and throws if it has failed.
  void await(Entry& entry);
  /// Waits for it: its memory is the caller's again.
  void wait_for(Entry& entry) noexcept;

 private:
  void work() noexcept;

  io::File& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_:
  std::vector<Entry*> waiting_;
  bool ends_ = false;
  // The thread's:
  std::vector<Entry*> batch_;
  std::vector<io::Transfer> transfers_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace palimpsest::engine
