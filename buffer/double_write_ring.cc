#include "buffer/double_write_ring.h"

#include <algorithm>

#include "base/aligned_memory.h"
#include "base/check.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

void DoubleWriteRing::write(std::uint32_t slot, ConstBytes images) {
  check(slot < batches_ && images.size() <= batch_pages_ * page_size_bytes_,
        "a batch fits its ring slot");
  file_.write(offset_bytes_ + std::uint64_t{slot} * batch_pages_ * page_size_bytes_, images);
}

RestoreOutcome DoubleWriteRing::restore(std::uint64_t first_page, std::uint64_t page_count,
                                        std::uint64_t batch_floor) {
  file_.sync();
  std::vector<RingCopy> copies = find_copies(batch_floor);
  RestoreOutcome outcome;
  for (const RingCopy& copy : copies) {
    outcome.newest_batch = std::max(outcome.newest_batch, copy.batch);
  }
  std::erase_if(copies,
                [&](const RingCopy& copy) { return copy.batch + 1 < outcome.newest_batch; });
  outcome.copies_considered = static_cast<std::uint32_t>(copies.size());

  // Groups the copies by page, the newest first.
  std::sort(copies.begin(), copies.end(), [](const RingCopy& a, const RingCopy& b) {
    return a.id != b.id ? a.id < b.id : a.batch > b.batch;
  });
  const AlignedMemory page(page_size_bytes_, page_size_bytes_);
  for (auto first = copies.begin(); first != copies.end();) {
    const auto last = std::find_if(first, copies.end(),
                                   [&](const RingCopy& copy) { return copy.id != first->id; });
    if (raw(first->id) >= first_page && raw(first->id) < page_count) {
      restore_page({first, last}, page.bytes(), outcome);
    }
    first = last;
  }
  file_.sync();
  return outcome;
}

std::vector<RingCopy> DoubleWriteRing::find_copies(std::uint64_t batch_floor) {
  std::vector<RingCopy> copies;
  const std::uint64_t chunk_pages = std::min(batch_pages_, kBatchPagesMin);
  const AlignedMemory chunk(chunk_pages * page_size_bytes_, page_size_bytes_);
  const std::uint64_t ring_pages = std::uint64_t{batches_} * batch_pages_;
  for (std::uint64_t start = 0; start < ring_pages; start += chunk_pages) {
    const std::uint64_t pages = std::min(chunk_pages, ring_pages - start);
    const MutableBytes bytes = chunk.bytes().first(pages * page_size_bytes_);
    const std::uint64_t offset = offset_bytes_ + start * page_size_bytes_;
    file_.read(offset, bytes);
    for (std::uint64_t i = 0; i < pages; ++i) {
      const ConstBytes page = bytes.subspan(i * page_size_bytes_, page_size_bytes_);
      const PageHeader header = header_of(page);
      if (header.write_batch >= batch_floor && header.write_batch != 0 &&
          header.write_batch <= kCounterMax &&
          verify_page(page, header.page_id) == PageFault::none) {
        copies.push_back({header.page_id, header.write_batch, offset + i * page_size_bytes_});
      }
    }
  }
  return copies;
}

/// Step 4 for one page. `copies`: all of that page, the newest first.
void DoubleWriteRing::restore_page(std::span<const RingCopy> copies, MutableBytes page,
                                   RestoreOutcome& outcome) {
  const RingCopy& newest = copies.front();
  const std::uint64_t place = raw(newest.id) * page_size_bytes_;
  file_.read(place, page);
  const PageFault fault = verify_page(page, newest.id);
  const std::uint64_t batch = header_of(page).write_batch;
  if (fault == PageFault::checksum || fault == PageFault::identity) {
    ++outcome.pages_restored;
  } else if (std::any_of(copies.begin(), copies.end(),
                         [&](const RingCopy& copy) { return copy.batch == batch; })) {
    ++outcome.pages_rewritten;
  } else {
    return;
  }
  file_.read(newest.offset_bytes, page);
  if (verify_page(page, newest.id) == PageFault::none) {  // as it verified a moment ago
    file_.write(place, page);
  }
}

}  // namespace palimpsest::buffer
