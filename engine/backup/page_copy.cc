#include "engine/backup/page_copy.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/sync_point.h"

namespace palimpsest::engine {
namespace {

constexpr std::uint32_t kRunBytes = std::uint32_t{1} << 20U;
/// A write in place takes less than all of these pauses together, unless the device stands still.
constexpr int kReadsMax = 50;
constexpr std::chrono::milliseconds kPauseBetweenReads{1};

bool is_zero(ConstBytes page) noexcept {
  return std::ranges::all_of(page, [](std::byte b) { return b == std::byte{0}; });
}

/// It may be being written, or is damaged. What was never written is neither.
bool is_doubtful(const buffer::PageRead& read) noexcept {
  return read.io_error == 0 && read.fault != buffer::PageFault::none && !is_zero(read.into);
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
  read(run, pages);
  PALIMPSEST_SYNC_POINT("engine.backup.read");
  write(run, pages);
}

void PageCopy::keep(buffer::PageRun run) {
  kept_.push_back({run, AlignedMemory::for_overwrite(bytes_of(run), from_.page_size_bytes())});
  read(run, kept_.back().memory.bytes());
}

void PageCopy::write_kept() {
  for (const Kept& kept : kept_) {
    write(kept.run, kept.memory.bytes());
  }
  kept_.clear();
}

void PageCopy::read(buffer::PageRun run, MutableBytes into) {
  const std::size_t page_bytes = from_.page_size_bytes();
  reads_.clear();
  for (std::uint32_t i = 0; i < run.pages; ++i) {
    reads_.push_back(
        {.id = PageId{raw(run.first) + i}, .into = into.subspan(i * page_bytes, page_bytes)});
  }
  from_.read_pages(reads_);
  for (const buffer::PageRead& read : reads_) {
    if (read.io_error != 0) {
      from_.throw_read_error(read);
    }
  }
  std::erase_if(reads_, [](const buffer::PageRead& read) { return !is_doubtful(read); });
  for (int again = 1; again < kReadsMax && !reads_.empty(); ++again) {
    std::this_thread::sleep_for(kPauseBetweenReads);
    from_.read_pages(reads_);
    std::erase_if(reads_, [](const buffer::PageRead& read) { return !is_doubtful(read); });
  }
  for (const buffer::PageRead& read : reads_) {
    if (space_.is_logged(read.id)) {
      damaged_.push_back(read.id);
    }
  }
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

std::vector<PageId> PageCopy::take_damaged() noexcept {
  return std::exchange(damaged_, {});
}

}  // namespace palimpsest::engine
