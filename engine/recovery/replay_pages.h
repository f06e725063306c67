// The pages that one worker of redo has in memory: a bounded number of frames, read together,
// written in batches that no crash can tear.
//
// Not the buffer pool: there are no swips, no latches and no other readers, pages are dirty almost
// all, and they leave in the order of a clock hand. A page is judged as a node when it is read,
// since whoever applies records to it relies on that.
// Frames that are free are taken in ascending order, and pages are written in theirs: neighbours
// that are taken one after the other lie next to each other in memory, too, and are one transfer.
// Invariants: (1) a page has one frame at most;
//             (2) the frames in use since begin_group() stay.
// I-2 (docs/invariants.md) holds of itself: what is replayed was read from a log that is durable.
// Thread-safety: belongs to one thread; file and writer are shared by all.
// Failure: io_error, corruption naming the page, no_space, failed; what was written stays, and
//          redoing everything again leads to the same pages.
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

/// What redo lets records and images name as children: a page behind the double-write ring. Whether
/// the file has it is judged when the child is read; an old image may name a page that a later
/// record frees and the file no longer has.
[[nodiscard]] btree::SwipRule replay_swip_rule(const buffer::PageFile& file) noexcept;

class ReplayPages {
 public:
  static constexpr std::size_t kFramesMin = 16;
  /// Most pages of a group.
  [[nodiscard]] std::size_t group_pages() const noexcept;

  /// At most `frames_max` frames, at least kFramesMin; memory is taken as they are needed.
  ReplayPages(buffer::PageFile& file, buffer::PageWriter& writer, std::size_t frames_max);
  ReplayPages(const ReplayPages&) = delete;
  ReplayPages& operator=(const ReplayPages&) = delete;

  /// From here on frames that are taken or touched stay, until the next group: group_pages() at
  /// most.
  void begin_group() noexcept { ++group_; }
  /// A frame for a page that has none. What it holds is anything, until load_group() for a page
  /// that is to be `read`. Writes other pages if no frame is free.
  [[nodiscard]] ReplayFrame take(PageId page, bool read);
  void touch(ReplayFrame frame) noexcept { frames_[frame].group = group_; }
  /// Reads the pages of the group that are to be read, together, and judges them.
  void load_group();

  /// Whether the frame holds this page: frames taken for a page lose it when others need them.
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
  std::size_t hand_ = 0;
  std::uint64_t group_ = 0;
  std::uint64_t pages_read_ = 0;
  std::uint64_t pages_written_ = 0;
};

}  // namespace palimpsest::engine
