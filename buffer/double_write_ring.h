// The double-write ring: where page images lie durably while they are written in place.
//
// Format: ring_batches slots of batch_pages pages, right behind the file's header area. A slot
//         holds sealed page images, exactly as they are in place: each carries its page id, its
//         batch number and a checksum (page_header.h). An image that does not verify is no copy;
//         slots start as zeros. page_writer.h says when slots are written and why that is safe.
//
// Restore (docs/invariants.md I-1), before anything else of an unclean file is read:
// 1  sync the file: what a killed process left in the device's cache becomes durable
// 2  collect the copies that verify and have a batch of at least the header's batch floor
// 3  keep those of the newest batch number found and of its predecessor
// 4  write the newest copy in place, for each page among them if its image in place does not
//    verify, or is itself one of the copies found
// 5  sync; only then may the caller raise the batch floor or write to the ring
// "Newest copy" is that of the higher batch. It is also that of the highest GSN: a page has one
// write in flight at a time and its GSN never falls.
// Why step 4 also rewrites whole images: after a failed sync the device's cache may show data that
// the medium never got, and the next sync succeeds (Rebello et al., ATC 2020). Images that may be
// unhardened in place are of these two batches, and each has a durable copy. A page with an older
// image in place must be left alone: the cached copies of the newest batch may be lost, and a crash
// in step 4 would then leave the page torn with no copy.
// Cases:
// - A page cut off by a truncation: its location lies beyond the end of the file; skipped.
// - A freed page, maybe in use again: either its image in place verifies, or it was never made
//   durable and nothing refers to it; then an old image is as good as a torn one.
// - A crash in step 4: nothing in the ring has changed, the restore starts again.
// - Batch numbers in place above all of the ring (atomic writes): those pages verify.
// - A torn page without a copy: left alone; reading it is the error that names it.
// - Copies from before the last open: below the batch floor, so that bit rot is never "repaired"
//   with an image that had been replaced since.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/io/device.h"
#include "buffer/file_header.h"

namespace palimpsest::buffer {

/// A copy found in the ring.
struct RingCopy {
  PageId id = kNoPage;
  std::uint64_t batch = 0;
  std::uint64_t offset_bytes = 0;
};

/// What the restore of torn pages found and did when the file was opened.
struct RestoreOutcome {
  std::uint64_t newest_batch = 0;       ///< newest batch number in the ring, 0 none
  std::uint32_t copies_considered = 0;  ///< of that batch and its predecessor
  std::uint32_t pages_restored = 0;     ///< their image in place did not verify
  std::uint32_t pages_rewritten = 0;    ///< their image in place verified
};

class DoubleWriteRing {
 public:
  /// `header` has been validated.
  DoubleWriteRing(io::File& file, const FileHeader& header)
      : file_(file),
        offset_bytes_(header.ring_offset_bytes),
        page_size_bytes_(header.page_size_bytes),
        batches_(header.ring_batches),
        batch_pages_(header.batch_pages) {}

  /// Writes the images of one batch to a slot; not durable before a sync. Throws io_error,
  /// no_space.
  void write(std::uint32_t slot, ConstBytes images);

  /// Runs the restore. `page_count`: whole pages in the file as it is now. Throws io_error.
  [[nodiscard]] RestoreOutcome restore(std::uint64_t first_page, std::uint64_t page_count,
                                       std::uint64_t batch_floor);

  [[nodiscard]] std::uint32_t slots() const noexcept { return batches_; }

 private:
  [[nodiscard]] std::vector<RingCopy> find_copies(std::uint64_t batch_floor);
  void restore_page(std::span<const RingCopy> copies, MutableBytes page, RestoreOutcome& outcome);

  io::File& file_;
  std::uint64_t offset_bytes_;
  std::uint64_t page_size_bytes_;
  std::uint32_t batches_;
  std::uint32_t batch_pages_;
};

}  // namespace palimpsest::buffer
