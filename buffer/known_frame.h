// Pages in frames that somebody remembers or guesses, instead of coming to them from their parents.
//
// A version says whether the page is still what it was when that was taken: resident, of the same
// tree, with the same content. Without one, a page is what it says of itself, if it is resident.
// Latching: nothing is waited for. Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/attempt.h"
#include "base/prefetch.h"
#include "buffer/frame_table.h"
#include "buffer/page_guard.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

/// A search begins in what follows the page header.
inline void prefetch_for_search(const FrameTable& frames, FrameIndex frame) noexcept {
  constexpr std::size_t kSearchedBytes = 320;
  const std::byte* page = frames.page(frame);
  prefetch(page + sizeof(PageHeader), page + kSearchedBytes);
}

/// What says whose page it is, and which keys are in it: its header, and the fences at its end.
inline void prefetch_to_look_at(const FrameTable& frames, FrameIndex frame) noexcept {
  const std::byte* page = frames.page(frame);
  prefetch_line(page);
  prefetch_line(page + frames.page_size_bytes() - 1);
}

/// The page in a frame, to be searched, if its version is still the one remembered.
[[nodiscard]] inline Attempt<OptimisticPage> searched_at(const FrameTable& frames, FrameIndex frame,
                                                         std::uint64_t version) noexcept {
  prefetch_for_search(frames, frame);
  auto page = OptimisticPage::at(frames[frame], frames.page(frame), version);
  if (page) {
    page->frame().touch();
  }
  return page;
}

/// The page in a frame, to be looked at and searched, if one is resident there. Any index will do.
[[nodiscard]] inline Attempt<OptimisticPage> resident_in(const FrameTable& frames,
                                                         FrameIndex frame) noexcept {
  if (!frames.contains(frame)) {
    return restart;
  }
  prefetch_for_search(frames, frame);
  prefetch_to_look_at(frames, frame);
  auto found = OptimisticPage::without_waiting(frames[frame], frames.page(frame));
  if (found && found->frame().state.load(std::memory_order_relaxed) != FrameState::resident) {
    return restart;
  }
  if (found) {
    found->frame().touch();
  }
  return found;
}

/// A frame's version, unless its page is latched exclusively or there is no such frame.
[[nodiscard]] inline std::optional<std::uint64_t> version_of(const FrameTable& frames,
                                                             FrameIndex frame) noexcept {
  return frames.contains(frame) ? frames[frame].latch.try_optimistic() : std::nullopt;
}

}  // namespace palimpsest::buffer
