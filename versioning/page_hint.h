// Where a page was, and at which version, in one word: a hint that costs an entry no more.
//
// The version is cut to its lowest bits, so a hint may call a page unchanged that has changed some
// million times, or has been replaced by another one: a thread that follows it latches the frame
// and checks. Frames are never unmapped, so the hint can be followed at any time.
// Thread-safety: a value; following it, from any thread.
#pragma once

#include <bit>
#include <cstdint>

#include "buffer/frame.h"

namespace palimpsest::versioning {

class PageHint {
 public:
  /// A hint to no page.
  PageHint() noexcept = default;
  /// A hint to the page in this frame at this version of its latch.
  PageHint(const buffer::Frame& frame, std::uint64_t version) noexcept
      : word_(std::bit_cast<std::uintptr_t>(&frame) / alignof(buffer::Frame) << kVersionBits |
              (version >> HybridLatch::kVersionShift & kVersionMask)) {}

  /// The frame, whatever it holds by now; null for a hint to no page.
  [[nodiscard]] buffer::Frame* frame() const noexcept {
    return std::bit_cast<buffer::Frame*>((word_ >> kVersionBits) * alignof(buffer::Frame));
  }
  /// The frame, if not exclusively held and most likely with the same page, unchanged; or null.
  [[nodiscard]] buffer::Frame* unchanged_frame() const noexcept {
    auto* const frame = this->frame();
    if (frame == nullptr) {
      return nullptr;
    }
    const auto version = frame->latch.try_optimistic();
    return version && PageHint(*frame, *version).word_ == word_ ? frame : nullptr;
  }

 private:
  /// Addresses of processes have 47 bits, those of frames end in six zeros.
  static constexpr unsigned kVersionBits = 64 - (47 - 6);
  static constexpr std::uint64_t kVersionMask = (std::uint64_t{1} << kVersionBits) - 1;
  static_assert(alignof(buffer::Frame) == 64);

  std::uint64_t word_ = 0;
};

}  // namespace palimpsest::versioning
