// Memory for texts that live as long as the rows that view them, given back all at once.
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace palimpsest::load {

class TextArena {
 public:
  /// Bytes that nobody else gets, at the same place until the arena goes; moving it does not move
  /// them.
  [[nodiscard]] std::span<char> take(std::size_t bytes) {
    if (bytes > left_) {
      left_ = std::max(bytes, kBlockBytes);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
      next_ = blocks_.back().get();
    }
    const std::span<char> taken(next_, bytes);
    next_ += bytes;
    left_ -= bytes;
    return taken;
  }

  [[nodiscard]] std::string_view copy(std::string_view text) {
    const std::span<char> into = take(text.size());
    if (!text.empty()) {
      std::memcpy(into.data(), text.data(), text.size());
    }
    return {into.data(), text.size()};
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;

  std::vector<std::unique_ptr<char[]>> blocks_{};
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace palimpsest::load
