// A caller's memory of the leaf it used last, to find it again without a descent.
//
// Why: streams of neighbouring keys (a load, the lines of an order) hit the same leaf again and
// again. The memory holds the leaf's frame, its latch version and its fences. A key outside the
// fences is dismissed without a look at the page; for a key inside, the version tells whether the
// leaf is unchanged (eviction, splits and merges raise it).
// Thread-safety: belongs to one thread, tree and pool. Pins nothing: the leaf may be evicted any
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::btree {

class LastLeaf {
 public:
  [[nodiscard]] bool covers(ByteView key) const noexcept {
    return frame_ != kNoFrame && lower_ <= key && (upper_is_infinite_ || key < upper_);
  }
  [[nodiscard]] FrameIndex frame() const noexcept { return frame_; }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// Remembers the leaf in `frame`, with its fences at that latch version. No upper fence:
  /// infinite. Forgets everything if there is no memory for the fences.
  void remember(FrameIndex frame, std::uint64_t version, ByteView lower,
                std::optional<ByteView> upper) noexcept {
    try {
      frame_ = kNoFrame;
      if (lower != lower_) {
        lower_ = lower;
      }
      upper_is_infinite_ = !upper.has_value();
      if (upper && *upper != upper_) {
        upper_ = *upper;
      }
      frame_ = frame;
      version_ = version;
      misses_ = static_cast<std::uint8_t>(std::min(misses_ + 1, 0xFF));
    } catch (const std::bad_alloc&) {
      forget();
    }
  }
  /// Resets to the initial state.
  void forget() noexcept {
    frame_ = kNoFrame;
    misses_ = 0;
  }

  /// The remembered leaf was used again.
  void count_hit() noexcept { misses_ = 0; }
  /// About how often a leaf was remembered since the last hit.
  [[nodiscard]] std::uint8_t misses() const noexcept { return misses_; }

 private:
  FrameIndex frame_ = kNoFrame;
  std::uint64_t version_ = 0;
  std::string lower_;
  std::string upper_;
  bool upper_is_infinite_ = false;
  std::uint8_t misses_ = 0;
};

}  // namespace palimpsest::btree
