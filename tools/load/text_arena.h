// Memory for texts that live as long as the row that views them, given back all at once.
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace palimpsest::load {

class TextArena {
 public:
  /// Bytes that no other call gets before clear().
  [[nodiscard]] std::span<char> take(std::size_t bytes) {
    if (bytes > left_) {
      left_ = block_bytes_ = std::max(bytes, kBlockBytes);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
      next_ = blocks_.back().get();
    }
    const std::span<char> taken(next_, bytes);
    next_ += bytes;
    left_ -= bytes;
    return taken;
  }

  /// All bytes are free again. One block of the usual size stays.
  void clear() {
    if (blocks_.size() == 1 && block_bytes_ == kBlockBytes) {
      next_ = blocks_.back().get();
      left_ = kBlockBytes;
    } else {
      blocks_.clear();
      next_ = nullptr;
      left_ = 0;
    }
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;

  std::vector<std::unique_ptr<char[]>> blocks_{};
  std::size_t block_bytes_ = 0;  ///< of the last one
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace palimpsest::load
