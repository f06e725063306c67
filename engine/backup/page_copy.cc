#include "engine/backup/page_copy.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/sync_point.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint32_t kRunBytes = std::uint32_t{1} << 20U;
/// A write in place takes less than all of these pauses together, unless the device stalls.
constexpr int kReadsMax = 50;
constexpr std::chrono::milliseconds kPauseBetweenReads{1};

/// The page may be under a write, or is damaged. A page that was never written is neither.
bool is_doubtful(const buffer::PageRead& read) noexcept {
  return read.fault != buffer::PageFault::none && !is_zero(read.into);
}

}  // namespace

PageCopy::PageCopy(buffer::PageFile& from, const buffer::SpaceMap& space, buffer::PageFile& into)
    : from_(from),
      space_(space),
      into_(into),
      run_pages_(kRunBytes / from.page_size_bytes()),
      memory_(AlignedMemory::for_overwrite(kRunBytes, from.page_size_bytes())) {
  reads_.reserve(run_pages_);
}

void PageCopy::copy(buffer::PageRun run) {
  const MutableBytes pages = memory_.bytes().first(bytes_of(run));
  read({&run, 1}, pages);
  PALIMPSEST_SYNC_POINT("engine.backup.read");
  write(run, pages);
}

void PageCopy::keep(std::span<const buffer::PageRun> runs) {
  std::size_t bytes = 0;
  for (const buffer::PageRun& run : runs) {
    bytes += bytes_of(run);
  }
  kept_.assign(runs.begin(), runs.end());
  kept_memory_ = AlignedMemory::for_overwrite(bytes, from_.page_size_bytes());
  read(runs, kept_memory_.bytes());
}

void PageCopy::write_kept() {
  std::size_t at = 0;
  for (const buffer::PageRun& run : kept_) {
    write(run, kept_memory_.bytes().subspan(at, bytes_of(run)));
    at += bytes_of(run);
  }
  kept_.clear();
  kept_memory_ = {};
}

void PageCopy::read(std::span<const buffer::PageRun> runs, MutableBytes into) {
  const std::size_t page_bytes = from_.page_size_bytes();
  reads_.clear();
  for (const buffer::PageRun& run : runs) {
    for (std::uint32_t i = 0; i < run.pages; ++i) {
      reads_.push_back({.id = PageId{raw(run.first) + i},
                        .into = into.subspan(reads_.size() * page_bytes, page_bytes)});
      damaged_.erase(reads_.back().id);
    }
  }
  from_.read_pages(reads_);
  keep_doubtful();
  for (int again = 1; again < kReadsMax && !reads_.empty(); ++again) {
    std::this_thread::sleep_for(kPauseBetweenReads);
    from_.read_pages(reads_);
    keep_doubtful();
  }
  for (const buffer::PageRead& read : reads_) {
    if (space_.is_logged(read.id)) {
      damaged_.insert(read.id);
    }
  }
}

/// Of the pages read, retains those that are to be read again.
void PageCopy::keep_doubtful() {
  for (const buffer::PageRead& read : reads_) {
    if (read.io_error != 0) {
      from_.throw_read_error(read);
    }
  }
  std::erase_if(reads_, [](const buffer::PageRead& read) { return !is_doubtful(read); });
}

void PageCopy::write(buffer::PageRun run, ConstBytes pages) {
  if (raw(run.first) + run.pages > into_.page_count()) {
    into_.grow(from_.page_count());
  }
  into_.file().write(into_.offset_of(run.first), pages);
}

void PageCopy::grow_to(std::uint64_t page_count) {
  if (page_count > into_.page_count()) {
    into_.grow(page_count);
  }
}

}  // namespace palimpsest::engine
