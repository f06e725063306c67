#include "buffer/unlogged_writes.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/sync_point.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kWordBits = 64;

constexpr std::uint64_t bit_of(std::uint64_t page) noexcept {
  return std::uint64_t{1} << (page % kWordBits);
}

}  // namespace

void UnloggedWrites::watch() {
  const std::lock_guard lock(mutex_);
  marks_.clear();
  count_ = 0;
  failed_ = false;
  watched_.store(true);
}

void UnloggedWrites::forget() noexcept {
  const std::lock_guard lock(mutex_);
  watched_.store(false);
  marks_ = {};
  count_ = 0;
}

void UnloggedWrites::mark(std::span<const PageImage> pages) noexcept {
  const std::lock_guard lock(mutex_);
  if (!watched_.load()) {
    return;
  }
  try {
    for (const PageImage& page : pages) {
      const std::uint64_t word = raw(page.id) / kWordBits;
      if (word >= marks_.size()) {
        marks_.resize(std::max<std::size_t>(word + 1, 2 * marks_.size()));
      }
      count_ += (marks_[word] & bit_of(raw(page.id))) == 0 ? 1U : 0U;
      marks_[word] |= bit_of(raw(page.id));
    }
  } catch (const std::bad_alloc&) {
    failed_ = true;
  }
}

bool UnloggedWrites::is_marked(std::uint64_t page) const noexcept {
  const std::uint64_t word = page / kWordBits;
  return word < marks_.size() && (marks_[word] & bit_of(page)) != 0;
}

std::optional<PageRun> UnloggedWrites::take(PageId from, std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  if (failed_) {
    throw std::bad_alloc();
  }
  std::uint64_t word = raw(from) / kWordBits;
  std::uint64_t bits = word < marks_.size() ? marks_[word] & ~(bit_of(raw(from)) - 1) : 0;
  while (bits == 0) {
    if (++word >= marks_.size()) {
      return std::nullopt;
    }
    bits = marks_[word];
  }
  PageRun run{.first =
                  PageId{word * kWordBits + static_cast<std::uint64_t>(std::countr_zero(bits))}};
  for (; run.pages < most && is_marked(raw(run.first) + run.pages); ++run.pages) {
    const std::uint64_t page = raw(run.first) + run.pages;
    marks_[page / kWordBits] &= ~bit_of(page);
  }
  count_ -= run.pages;
  return run;
}

std::uint64_t UnloggedWrites::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

UnloggedWrites::Write::Write(UnloggedWrites& writes, std::span<const PageImage> pages)
    : writes_(writes), pages_(pages) {
  const std::lock_guard door(writes.door_);
  gate_ = std::shared_lock(writes.gate_);
}

// Marks only once the write has ended: a copier that took the mark earlier and read the pages then
// would miss the write.
UnloggedWrites::Write::~Write() {
  PALIMPSEST_SYNC_POINT("buffer.unlogged.written");
  if (writes_.watched_.load()) {
    writes_.mark(pages_);
  }
}

}  // namespace palimpsest::buffer
