// A swip: 64 bits in a page that name another page, either by its frame (swizzled) or by its page
// id.
//
// A swizzled swip holds a frame *index*, not a pointer: a torn or stale one is bounded by one
// compare and can never be dereferenced out of the pool. The second-chance mark ("cool") is not in
// the swip but in the frame header, on the cache line a reader touches anyway: marking needs no
// access to the parent (LeanStore keeps it in the swip). See
// docs/decisions/003-swips-and-frames.md.
//
// In memory only bit 63 tells the two apart; on disk a swip is always a page id, bit 63 clear. A
// swip is changed only under the exclusive latch of the page that holds it, and read through
// std::atomic_ref because optimistic readers look at it meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace palimpsest::buffer {

class Swip {
 public:
  Swip() = default;

  [[nodiscard]] static constexpr Swip of_page(PageId page) noexcept { return Swip{raw(page)}; }
  [[nodiscard]] static constexpr Swip of_frame(FrameIndex frame) noexcept {
    return Swip{kSwizzledBit | raw(frame)};
  }
  [[nodiscard]] static constexpr Swip of_word(std::uint64_t word) noexcept { return Swip{word}; }

  [[nodiscard]] constexpr bool swizzled() const noexcept { return (word_ & kSwizzledBit) != 0; }
  /// Meaningful only if swizzled().
  [[nodiscard]] constexpr FrameIndex frame() const noexcept {
    return FrameIndex{static_cast<std::uint32_t>(word_)};
  }
  /// Meaningful only if not swizzled().
  [[nodiscard]] constexpr PageId page() const noexcept { return PageId{word_}; }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

  friend constexpr bool operator==(Swip, Swip) noexcept = default;

 private:
  static constexpr std::uint64_t kSwizzledBit = std::uint64_t{1} << 63;

  explicit constexpr Swip(std::uint64_t word) noexcept : word_(word) {}

  std::uint64_t word_ = 0;
};

/// The swip at a byte offset of a page; `offset` must be 8-aligned and within the page.
[[nodiscard]] inline Swip load_swip(const std::byte* page, std::uint32_t offset) noexcept {
  // atomic_ref<const T> comes with C++26; the cast adds no write.
  auto* word = const_cast<std::uint64_t*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      reinterpret_cast<const std::uint64_t*>(page + offset));
  return Swip::of_word(std::atomic_ref(*word).load(std::memory_order_acquire));
}

/// Caller holds the page's exclusive latch, or the page is private to it.
inline void store_swip(std::byte* page, std::uint32_t offset, Swip swip) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(page + offset);
  std::atomic_ref(*word).store(swip.word(), std::memory_order_release);
}

/// A swip as read from a page, with its location there.
struct SwipRef {
  Swip swip;
  std::uint32_t offset = 0;  ///< byte offset in its page
};

}  // namespace palimpsest::buffer
