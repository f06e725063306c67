// The pages that one worker of redo has in memory: a bounded number of frames, read together,
// written in batches that no crash can tear.
//
// Not the buffer pool: there are no swips, latches or other readers; almost all pages are dirty;
// and pages are evicted in the order of a clock hand. A page is validated as a node when it is
// read, because applying records relies on that.
// Free frames are taken in ascending order, and pages are written in theirs: neighbouring pages
// that are taken one after the other are adjacent in memory, too, and are one transfer.
// Invariants: (1) a page has at most one frame; (2) the frames in use since begin_group() stay.
// I-2 (docs/invariants.md) holds by itself: what is replayed was read from a durable log.
// Thread-safety: belongs to one thread; file and writer are shared by all workers.
// Failure: io_error, corruption naming the page, no_space, failed. Pages written so far stay;
// redoing everything again leads to the same pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/node_validate.h"
#include "buffer/page_file.h"
#include "buffer/page_writer.h"

namespace palimpsest::engine {

/// A frame of ReplayPages.
using ReplayFrame = std::uint32_t;
inline constexpr ReplayFrame kNoReplayFrame = ~ReplayFrame{0};

/// The rule for child references in records and images during redo: they name a page behind the
/// double-write ring. Whether the file has that page is checked when the child is read: an old
/// image may name a page that a later record frees and the file no longer has.
[[nodiscard]] btree::SwipRule replay_swip_rule(const buffer::PageFile& file) noexcept;

class ReplayPages {
 public:
  static constexpr std::size_t kFramesMin = 16;
  /// Maximum pages of a group.
  [[nodiscard]] std::size_t group_pages() const noexcept;

  /// At most `frames_max` frames, at least kFramesMin; memory is allocated as they are needed.
  ReplayPages(buffer::PageFile& file, buffer::PageWriter& writer, std::size_t frames_max);
  ReplayPages(const ReplayPages&) = delete;
  ReplayPages& operator=(const ReplayPages&) = delete;

  /// From here on frames that are taken or touched stay until the next group; at most
  /// group_pages().
  void begin_group() noexcept { ++group_; }
  /// A frame for a page that has none. Its content is undefined; if `read`, until load_group().
  /// Evicts other pages if no frame is free.
  [[nodiscard]] ReplayFrame take(PageId page, bool read);
  void touch(ReplayFrame frame) noexcept { frames_[frame].group = group_; }
  /// Reads the pages of the group that are to be read, together, and validates them. Throws if one
  /// cannot be read or is no node. With `skips`, returns the frames of such pages instead, which
  /// hold no page then; valid until the next call.
  std::span<const ReplayFrame> load_group(bool skips = false);
  /// Whether the file has the page.
  [[nodiscard]] bool has_place(PageId page) const noexcept { return file_.contains(page); }
  /// The frame holds no page any more, and is not written.
  void forget(ReplayFrame frame) noexcept {
    frames_[frame].page = kNoPage;
    frames_[frame].dirty = false;
  }

  /// Whether the frame still holds this page: it may have been evicted for another one.
  [[nodiscard]] bool holds(ReplayFrame frame, PageId page) const noexcept {
    return frame != kNoReplayFrame && frames_[frame].page == page;
  }
  [[nodiscard]] MutableBytes image(ReplayFrame frame) const noexcept;
  void mark_dirty(ReplayFrame frame) noexcept { frames_[frame].dirty = true; }

  /// Writes every dirty page; durable after the writer's harden().
  void write_all();

  [[nodiscard]] std::uint64_t pages_read() const noexcept { return pages_read_; }
  [[nodiscard]] std::uint64_t pages_written() const noexcept { return pages_written_; }

 private:
  struct Frame {
    PageId page = kNoPage;
    std::uint64_t group = 0;  ///< that touched it last
    bool dirty = false;
  };

  static constexpr std::size_t kChunkFrames = 256;
  static constexpr std::size_t kGroupPagesMax = 64;

  [[noreturn]] void refuse(const buffer::PageRead& read) const;
  void judge(const buffer::PageRead& read) const;
  void make_frames();
  void make_room();
  void write(std::span<const ReplayFrame> frames);

  buffer::PageFile& file_;
  buffer::PageWriter& writer_;
  const std::size_t page_size_;
  const std::size_t frames_max_;
  std::vector<AlignedMemory> memory_;  ///< kChunkFrames pages each
  std::vector<Frame> frames_;
  std::vector<ReplayFrame> free_;
  std::vector<ReplayFrame> victims_;
  std::vector<buffer::PageRead> reads_;
  std::vector<ReplayFrame> reading_;  ///< the frame of each
  std::vector<ReplayFrame> unread_;
  std::size_t hand_ = 0;
  std::uint64_t group_ = 0;
  std::uint64_t pages_read_ = 0;
  std::uint64_t pages_written_ = 0;
};

}  // namespace palimpsest::engine
