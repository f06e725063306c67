// Transfers of one file in the background, by a thread of its own.
//
// The thread takes all waiting transfers together, as one batch of the device. Without the thread,
// each is done when it is begun.
// Latching: a mutex of its own, not held during I/O.
// Thread-safety: one thread begins and awaits; in between, a transfer belongs to the queue.
// Failure: await() throws the Error of the transfer. Of the other functions only the constructor
// throws.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "base/io/device.h"

namespace palimpsest::bulk {

class TransferQueue {
 public:
  struct Entry {
    io::Transfer transfer{};
    bool is_under_way = false;  ///< used by the queue
  };

  /// `entries_max`: the most transfers begun and not awaited at any time. The file outlives this.
  TransferQueue(io::File& file, bool has_thread, std::size_t entries_max);
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;
  /// Waits for all that is under way.
  ~TransferQueue();

  [[nodiscard]] io::File& file() const noexcept { return file_; }

  void begin(Entry& entry, const io::Transfer& transfer) noexcept;
  /// Waits for the transfer if it is under way, and throws if it has failed.
  void await(Entry& entry);
  /// Waits for the transfer, without throwing: its memory is the caller's again.
  void wait_for(Entry& entry) noexcept;

 private:
  void work() noexcept;

  io::File& file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_:
  std::vector<Entry*> waiting_;
  bool ends_ = false;
  // Used by the thread:
  std::vector<Entry*> batch_;
  std::vector<io::Transfer> transfers_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace palimpsest::bulk
