// Pages in frames that a caller remembers or guesses, instead of coming to them from their parents.
//
// A remembered version says whether the page is still what it was when the version was taken:
// resident, of the same tree, with the same content. Without a version the caller must tell from
// the page's own bytes which page it is.
// Latching: no function waits. Thread-safety: all functions, from any thread.
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

/// Prefetches where a search begins: the bytes behind the page header.
inline void prefetch_for_search(const FrameTable& frames, FrameIndex frame) noexcept {
  constexpr std::size_t kSearchedBytes = 320;
  const std::byte* page = frames.page(frame);
  prefetch(page + sizeof(PageHeader), page + kSearchedBytes);
}

/// Prefetches what identifies a page: its header, and the fence keys at its end.
inline void prefetch_to_look_at(const FrameTable& frames, FrameIndex frame) noexcept {
  const std::byte* page = frames.page(frame);
  prefetch_line(page);
  prefetch_line(page + frames.page_size_bytes() - 1);
}

/// The page in a frame, to be searched, if its version is still `version`.
[[nodiscard]] inline Attempt<OptimisticPage> searched_at(const FrameTable& frames, FrameIndex frame,
                                                         std::uint64_t version) noexcept {
  prefetch_for_search(frames, frame);
  auto page = OptimisticPage::at(frames[frame], frames.page(frame), version);
  if (page) {
    page->frame().touch();
  }
  return page;
}

/// The page in a frame, to be identified and searched, if one is resident there. Takes any index.
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

/// A frame's version; nothing if its page is latched exclusively or there is no such frame.
[[nodiscard]] inline std::optional<std::uint64_t> version_of(const FrameTable& frames,
                                                             FrameIndex frame) noexcept {
  return frames.contains(frame) ? frames[frame].latch.try_optimistic() : std::nullopt;
}

}  // namespace palimpsest::buffer
