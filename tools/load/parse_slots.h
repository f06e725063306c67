// How many threads parse at a time, of several loads together: each load has as many threads as
// may parse in all, and those of a load that waits for its writer leave their turns to other loads.
//
// Thread-safety: all functions, from any thread. A thread that has a turn waits for no other's, but
// for one that reads the same input.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace palimpsest::load {

class ParseSlots {
 public:
  explicit ParseSlots(std::size_t slots) : free_(slots) {}

  void take() {
    std::unique_lock lock(mutex_);
    is_free_.wait(lock, [&] { return free_ != 0; });
    --free_;
  }
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    is_free_.notify_one();
  }

 private:
  std::mutex mutex_{};
  std::condition_variable is_free_{};
  std::size_t free_;
};

/// A turn, if there is anything to wait for.
class ParseTurn {
 public:
  explicit ParseTurn(ParseSlots* slots) : slots_(slots) {
    if (slots_ != nullptr) {
      slots_->take();
    }
  }
  ~ParseTurn() {
    if (slots_ != nullptr) {
      slots_->give_back();
    }
  }
  ParseTurn(const ParseTurn&) = delete;
  ParseTurn& operator=(const ParseTurn&) = delete;

 private:
  ParseSlots* slots_;
};

}  // namespace palimpsest::load
