// The only way pages get to disk: batches that a crash cannot tear.
//
// Where the device promises not to tear a page (File::atomic_write_bytes_max), pages are written in
// place, atomically. Elsewhere a batch is first copied into the double-write ring and synced, then
// written in place (InnoDB's doublewrite buffer; one sync a batch as in docs/invariants.md I-1).
// Rejected: full-page images in the log (the log would grow by the page size for every dirtied
// page).
//
// Batch n, ring of R slots (attempts that failed before the sync use up a number, not a slot):
//   A  images are filled in and sealed in batch memory, n in each; with a log, it is made durable
//      up to the highest GSN of the images (I-2): nothing is written before
//   B  copy written to the ring slot, completed
//   C  sync: hardens the copy of n, and the in-place pages of n-1
//   D  images written in place, completed; write() returns
//   E  the sync of batch n+1, or harden(), hardens the in-place pages of n
// Invariants: (1) one batch at a time goes through A-D: D of n completes before B of n+1 begins, so
//                 the sync C of n+1 is submitted after n's in-place writes completed, and covers
//                 them.
//             (2) only images that lie durably in the ring are written in place: D after C.
//             (3) a slot is reused only after its batch is hardened: n's slot is next written by B
//                 of n+R, after C of n+R-1, and R >= 2.
//             (4) unhardened in-place pages belong to the newest batch whose copies may be on disk
//                 or to its predecessor. A batch that failed in B is followed by a sync before the
//                 next number is used, so the rule holds across failed attempts.
//             (5) a page is at most once in a batch, and its images' GSNs never fall.
//             (6) with a log, neither ring nor page file holds an image with a GSN above the
//                 log's durable GSN (I-2). Fresh pages have GSN 0: no commit that counts names them
//                 before they are durable.
// Crash points (what may be on disk, what the restore does):
//   before C of n       copies of n partial, in place n-1 partial; n-1's copies are durable by (2)
//                       and in their slot by (3). Torn pages of n-1 get the copy of n (if whole: it
//                       is newer, and as good as written) or of n-1.
//   between C and E     copies of n durable, in place n partial, n-1 hardened. Torn pages of n get
//                       n's copy.
//   after E             nothing torn
// Fresh pages, which no reader could have reached yet, are written in place directly: if they tear,
// nothing refers to them.
//
// Latching: the mutex turn_ is held from begin_batch until the Batch is destroyed, across I/O.
//           Callers hold no latch when they call begin_batch or write; filling a slot needs the
//           page's shared latch only while the image is copied. A thread that holds a Batch must
//           not allocate pages (the space map may be waiting for the mutex to flush itself).
//           write() may run a round of the log, or wait for one: rounds never wait for the mutex,
//           and a thread that appends waits for nothing.
// Failure:
// - A failed log (Error failed) has changed nothing on disk; the images are dropped, as after a
//   failed ring write, and the pages stay dirty.
// - A failed ring write throws io_error or no_space; no page on disk has changed, and the next
//   batch may succeed.
// - A failed in-place write is repeated once. If it fails again, or a sync fails, the file enters
//   its failed state. Pages of that batch may then be torn in place (they are still in the pool)
//   until reopening restores them from their copies.
// - On the atomic path a failed write leaves each page old or new, and the file usable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/io/device.h"
#include "buffer/double_write_ring.h"
#include "buffer/page_file.h"
#include "buffer/page_image.h"
#include "buffer/unlogged_writes.h"
#include "wal/log.h"

namespace palimpsest::buffer {

/// Counted since the writer was made; each is exact, together they are not a snapshot.
struct PageWriterStatistics {
  std::uint64_t batches = 0;
  std::uint64_t pages_in_place = 0;
  std::uint64_t pages_copied = 0;
  std::uint64_t pages_fresh = 0;
  std::uint64_t syncs = 0;
  std::uint64_t bytes_written = 0;  ///< copies included
};

class PageWriter {
 public:
  class Batch;

  /// File and log must outlive the writer; one writer per file. Memory: one batch of pages.
  explicit PageWriter(PageFile& file, wal::Log* log = nullptr);
  PageWriter(const PageWriter&) = delete;
  PageWriter& operator=(const PageWriter&) = delete;

  /// From the next batch on this log keeps I-2. Called when recovery, which writes pages of durable
  /// GSNs, is done. Waits for the mutex.
  void log_with(wal::Log& log);

  /// Begins a batch. Waits for the mutex. Throws failed, or invalid_argument on a read-only file.
  [[nodiscard]] Batch begin_batch();

  /// Writes pages that nothing durable or readable refers to yet. They are readable on return and
  /// durable after the next harden(), or PageFile::sync(). Does not need the mutex. Runs that are
  /// contiguous in file and memory become single transfers. Throws io_error or no_space; the pages
  /// are then undefined. Waits while a backup reads the last pages written so.
  void write_fresh(std::span<const PageImage> pages);
  /// As above; allocates nothing if `transfers` has room for as many transfers as pages.
  void write_fresh(std::span<const PageImage> pages, std::vector<io::Transfer>& transfers);

  /// Makes everything written before the call durable. Waits for the mutex.
  void harden();
  /// Tracks what write_fresh() writes, for a thread that copies the file meanwhile.
  [[nodiscard]] UnloggedWrites& unlogged_writes() noexcept { return unlogged_; }

  /// Newest batch whose in-place pages, and those of all earlier ones, are durable; 0 none.
  [[nodiscard]] std::uint64_t hardened_batch() const noexcept {
    return hardened_.load(std::memory_order_acquire);
  }
  /// Newest batch whose in-place pages are readable; 0 none.
  [[nodiscard]] std::uint64_t written_batch() const noexcept {
    return written_.load(std::memory_order_acquire);
  }
  /// Whether no batch can be written any more: file or log has failed.
  [[nodiscard]] bool failed() const noexcept;
  /// Throws failed, with the reason, if failed(); invalid_argument on a read-only file.
  void require_working() const;

  /// The most pages in one batch.
  [[nodiscard]] std::size_t batch_pages() const noexcept { return file_.batch_pages(); }
  /// True where pages are written atomically, without the ring.
  [[nodiscard]] bool atomic_writes() const noexcept { return atomic_; }
  [[nodiscard]] PageWriterStatistics statistics() const noexcept;

 private:
  void write_batch(Batch& batch);
  void write_copies(std::size_t page_count);
  void write_in_place(std::span<const PageId> pages);
  void sync_under_turn();
  [[nodiscard]] MutableBytes image(std::size_t index) const noexcept;

  PageFile& file_;
  DoubleWriteRing ring_;
  const bool atomic_;
  std::atomic<wal::Log*> log_;  ///< null without a log; set under turn_
  UnloggedWrites unlogged_;
  std::mutex turn_;
  // Protected by turn_:
  AlignedMemory memory_;  ///< batch_pages images, contiguous
  std::unique_ptr<io::BufferRegistration> registration_;
  std::vector<io::Transfer> transfers_;
  std::uint32_t next_slot_ = 0;
  /// Invariant (4): set after a failed attempt, and at first, when an earlier writer of the same
  /// file may have left pages unhardened.
  bool harden_first_ = true;

  std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> hardened_{0};
  std::atomic<std::uint64_t> batches_{0};
  std::atomic<std::uint64_t> in_place_{0};
  std::atomic<std::uint64_t> copied_{0};
  std::atomic<std::uint64_t> fresh_{0};
  std::atomic<std::uint64_t> syncs_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

/// Pages on their way to disk; holds the writer's mutex. Used by the thread that began it.
class PageWriter::Batch {
 public:
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = delete;
  /// Releases the mutex. Images that were not written are dropped.
  ~Batch() = default;

  /// Memory for the next image (page size, aligned to the page size), nullptr when the batch is
  /// full or written. The same until add().
  [[nodiscard]] std::byte* slot() noexcept;
  /// Accepts the image that was copied to slot(): a whole page of this id, swips replaced by page
  /// ids, slack zeroed, header's id and type set. A page may be added once.
  void add(PageId id);

  /// Writes the batch. On return readers find its pages on disk as they are here, and a crash
  /// leaves each of them old or new. Waits for the log up to newest_gsn(). Call once; an empty
  /// batch writes nothing. Throws as described above, and corruption if a page is twice in the
  /// batch; then nothing is written and the file fails.
  void write();

  [[nodiscard]] std::span<const PageId> pages() const noexcept { return pages_; }
  [[nodiscard]] bool empty() const noexcept { return pages_.empty(); }
  /// The batch's number, 0 until written.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Highest GSN among the images: write() begins when the log is durable up to it.
  [[nodiscard]] Gsn newest_gsn() const noexcept { return newest_gsn_; }

 private:
  friend class PageWriter;
  Batch(PageWriter& writer, std::unique_lock<std::mutex> turn);
  void require_each_once() const;

  PageWriter* writer_;
  std::unique_lock<std::mutex> turn_;
  std::vector<PageId> pages_;
  std::uint64_t number_ = 0;
  Gsn newest_gsn_{0};
  bool ended_ = false;
};

}  // namespace palimpsest::buffer
