#include "buffer/space_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/file_format.h"
#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "base/thread_number.h"
#include "buffer/extent_places.h"
#include "buffer/file_limits.h"
#include "buffer/pending_frees.h"
#include "buffer/space_map_page.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kWordBits = 64;
constexpr std::uint64_t kGrowthBytesMin = std::uint64_t{1} << 20;
constexpr std::uint64_t kGrowthPagesMin = 16;
constexpr std::uint64_t kGrowthBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kGrowthShare = 16;  ///< the file grows by 1/16
constexpr std::uint64_t kFirstFree = 1;     ///< behind the first map page
constexpr std::size_t kLoadPages = 16;      ///< map pages read together

std::uint64_t stretch_pages_of(std::uint32_t page_size_bytes) {
  return (page_size_bytes - sizeof(PageHeader)) * 8;
}

std::uint32_t stripe_of_thread() noexcept {
  return static_cast<std::uint32_t>(thread_number());
}

}  // namespace

/// What a map with a log has in addition to its claims.
struct SpaceMap::Logged {
  Logged(wal::Log& its_log, std::uint64_t stretch_pages) : log(its_log), bits(stretch_pages) {}

  wal::Log& log;
  PageBitmap bits;            ///< bits beyond the end of the file are clear, except map pages
  mutable HybridLatch latch;  ///< shared by Changes
  PendingFrees frees;
};

SpaceMap::SpaceMap(PageFile& file)
    : file_(file),
      first_page_(raw(file.first_page())),
      stretch_pages_(stretch_pages_of(file.page_size_bytes())),
      claims_(stretch_pages_) {
  load();
}

SpaceMap::~SpaceMap() = default;

void SpaceMap::load() {
  const std::uint64_t stretches = (bit_count() + stretch_pages_ - 1) / stretch_pages_;
  const std::size_t page_size = file_.page_size_bytes();
  const AlignedMemory memory(kLoadPages * page_size, page_size);
  std::vector<PageRead> reads;
  for (std::uint64_t begin = 0; begin < stretches; begin += kLoadPages) {
    reads.clear();
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(kLoadPages, stretches - begin); ++i) {
      reads.push_back({.id = page_of((begin + i) * stretch_pages_),
                       .into = memory.bytes().subspan(i * page_size, page_size)});
    }
    file_.read_pages(reads);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      // Without a clean close, growth may be ahead of the map.
      const bool blank =
          !file_.was_clean() && reads[i].io_error == 0 && is_blank_map_page(reads[i].into);
      if (!reads[i].ok() && !blank) {
        file_.throw_read_error(reads[i]);
      }
      load_stretch(begin + i, reads[i].into);
    }
  }
}

void SpaceMap::load_stretch(std::uint64_t stretch, ConstBytes image) {
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::corruption,
                fmt::format("page file \"{}\": space map page {}: {}", file_.name(),
                            raw(page_of(stretch * stretch_pages_)), what));
  };
  const bool blank = is_blank_map_page(image);
  if (!blank && header_of(image).type != PageType::space_map) {
    refuse(fmt::format("its type is {}, not space_map", name_of(header_of(image).type)));
  }
  if (!blank && (map_word(image, 0) & 1) == 0) {
    refuse("it is not marked as in use itself");
  }
  if (!blank && raw(header_of(image).gsn) > kCounterMax) {
    refuse(fmt::format("its GSN {} cannot be", raw(header_of(image).gsn)));
  }
  claims_.add_stretch();
  claims_.raise_stamp(stretch, raw(header_of(image).gsn));
  const std::uint64_t base = stretch * stretch_pages_;
  const std::uint64_t end = std::min(stretch_pages_, bit_count() - base);
  for (std::uint64_t first = 0; first < stretch_pages_; first += kWordBits) {
    const std::uint64_t value = map_word(image, first / kWordBits);
    const std::uint64_t inside = end <= first ? 0 : std::min(end - first, kWordBits);
    if (inside < kWordBits && value >> inside != 0 && file_.was_clean()) {
      refuse(fmt::format("pages from {} on are marked as in use, the file ends at page {}",
                         raw(page_of(base + first + inside)), file_.page_count()));
    }
    claims_.release_zeros(base + first, value, inside);
  }
  if (!blank) {
    static_cast<void>(claims_.take_dirty(stretch));
  }
}

PageBitmap& SpaceMap::written_bits() noexcept {
  Logged* with_log = logged();
  return with_log != nullptr ? with_log->bits : claims_;
}

const PageBitmap& SpaceMap::written_bits() const noexcept {
  const Logged* with_log = logged();
  return with_log != nullptr ? with_log->bits : claims_;
}

// With a log

void SpaceMap::recover(std::span<const RecoveredRun> runs) {
  check(logged() == nullptr, "recovery ends before the log is appended to");
  const std::lock_guard guard(structure_mutex_);
  std::uint64_t end_min = 0;
  for (const RecoveredRun& recovered : runs) {
    judge(recovered);
    if (recovered.in_use) {
      end_min = std::max(end_min, bits_of(recovered.run).end);
    }
  }
  while (bit_count() < end_min) {  // in steps: memory is taken only as the disk grants space
    const std::uint64_t step = kGrowthBytesMax / file_.page_size_bytes();
    claims_.release(grow(std::min(end_min, bit_count() + step)));
  }
  for (const RecoveredRun& recovered : runs) {
    BitRange bits = bits_of(recovered.run);
    if (recovered.in_use) {
      claims_.fill(bits);
    } else if (bits.first < bit_count()) {  // pages beyond were cut off after they became free
      bits.end = std::min(bits.end, bit_count());
      claims_.release(bits);
    }
  }
}

/// Throws corruption if the run cannot be one of this file.
void SpaceMap::judge(const RecoveredRun& recovered) const {
  const PageRun run = recovered.run;
  const auto refuse = [&](std::string_view what) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("page file \"{}\": the log says that the {} pages from page {} on are {}, "
                    "but {}",
                    file_.name(), run.pages, raw(run.first), recovered.in_use ? "in use" : "free",
                    what));
  };
  const std::uint64_t end_max = kFileBytesMax / file_.page_size_bytes();
  if (raw(run.first) < first_page_ || raw(run.first) >= end_max || run.pages == 0 ||
      run.pages > end_max - raw(run.first)) {
    refuse("no file has these pages");
  }
  const BitRange bits = bits_of(run);
  if (bits.first % stretch_pages_ == 0 ||
      bits.first / stretch_pages_ != (bits.end - 1) / stretch_pages_) {
    refuse("the space map is among them");
  }
}

Gsn SpaceMap::newest_gsn() const noexcept {
  const PageBitmap& bits = written_bits();
  std::uint64_t newest = 0;
  for (std::uint64_t stretch = 0; stretch < bits.stretches(); ++stretch) {
    newest = std::max(newest, bits.stamp(stretch));
  }
  return Gsn{newest};
}

void SpaceMap::log_with(wal::Log& log) {
  const std::lock_guard guard(structure_mutex_);
  check(logged() == nullptr, "a space map has one log");
  owned_logged_ = std::make_unique<Logged>(log, stretch_pages_);
  PageBitmap& bits = owned_logged_->bits;
  for (std::uint64_t stretch = 0; stretch < claims_.stretches(); ++stretch) {
    const std::uint64_t base = stretch * stretch_pages_;
    bits.add_stretch();
    for (std::uint64_t first = base; first < base + stretch_pages_; first += kWordBits) {
      bits.release_zeros(first, word_in_file(claims_, first), kWordBits);
    }
    bits.raise_stamp(stretch, claims_.stamp(stretch));
    if (!claims_.take_dirty(stretch)) {
      static_cast<void>(bits.take_dirty(stretch));
    }
  }
  logged_.store(owned_logged_.get(), std::memory_order_release);
}

SpaceMap::Change SpaceMap::change() noexcept PALIMPSEST_NO_ANALYSIS {
  Logged* with_log = logged();
  if (with_log == nullptr) {
    return Change(nullptr);
  }
  with_log->latch.lock_shared();
  return Change(this);
}

SpaceMap::Change::~Change() PALIMPSEST_NO_ANALYSIS {
  if (map_ != nullptr) {
    map_->logged()->latch.unlock_shared();
  }
}

void SpaceMap::Change::say(PageRun run, Gsn gsn, bool in_use) noexcept {
  if (map_ == nullptr) {
    return;
  }
  map_->require_own_pages(run);
  PageBitmap& bits = map_->logged()->bits;
  const BitRange range = map_->bits_of(run);
  PALIMPSEST_SYNC_POINT("buffer.space.appended");
  if (!(in_use ? bits.try_claim(range) : bits.release(range))) {
    map_->file_.fail(in_use ? "the log allocated a page that is in use"
                            : "the log freed a page that is free");
  }
  bits.raise_stamp(range.first / map_->stretch_pages_, raw(gsn));
}

void SpaceMap::free_when_durable(PageRun run, Gsn gsn) noexcept {
  Logged* with_log = logged();
  if (with_log == nullptr || with_log->log.durable_gsn() >= gsn) {
    free(run);
    return;
  }
  require_own_pages(run);
  with_log->frees.add(stripe_of_thread(), run, gsn, with_log->log.durable_gsn(),
                      [this](PageRun durable) { free(durable); });
}

void SpaceMap::complete_frees() noexcept {
  if (Logged* with_log = logged(); with_log != nullptr) {
    with_log->frees.take_durable(with_log->log.durable_gsn(),
                                 [this](PageRun durable) { free(durable); });
  }
}

/// Waits until all pages freed so far may be handed out; false if there were none.
bool SpaceMap::await_frees() {
  Logged* with_log = logged();
  const Gsn newest = with_log == nullptr ? Gsn{0} : with_log->frees.newest();
  if (newest == Gsn{0}) {
    return false;
  }
  with_log->log.wait_durable(newest);
  complete_frees();
  return true;
}

bool SpaceMap::is_logged(PageId id) const noexcept {
  return file_.contains(id) && written_bits().is_set(bit_of(id));
}

// Claims

/// Runs `take`, which may make the file grow. First completes the frees with durable records;
/// if the device is full, waits for all frees and tries again.
template <class Take>
auto SpaceMap::take_or_wait(Take take) {
  complete_frees();
  try {
    return take();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || !await_frees()) {
      throw;
    }
  }
  return take();
}

PageId SpaceMap::allocate(std::uint32_t stripe) {
  if (const auto bit = claims_.take(stripe)) {
    return page_of(*bit);
  }
  return take_or_wait([&] { return allocate_growing(stripe); });
}

PageId SpaceMap::allocate_growing(std::uint32_t stripe) {
  const std::lock_guard guard(structure_mutex_);
  if (const auto bit = claims_.take(stripe)) {  // another thread grew the file or freed a page
    return page_of(*bit);
  }
  if (const auto bit = claims_.take_anywhere()) {
    return page_of(*bit);
  }
  const std::uint64_t old_end = bit_count();
  const std::uint64_t taken = old_end % stretch_pages_ == 0 ? old_end + 1 : old_end;
  const BitRange grown = grow(taken + 1);
  claims_.release({taken + 1, grown.end});
  return page_of(taken);
}

std::optional<PageId> SpaceMap::claim_between(PageId begin, PageId end) noexcept {
  const std::uint64_t from = begin == kNoPage ? 0 : bit_of(begin);
  const auto bit = claims_.take_lowest({from, bit_of(end)});
  return bit ? std::optional(page_of(*bit)) : std::nullopt;
}

void SpaceMap::free(PageRun run) noexcept {
  require_own_pages(run);
  if (!claims_.release(bits_of(run))) {
    // The map on disk was wrong: do not build on anything else it says.
    file_.fail("a page was freed that the space map marks as free");
  }
}

void SpaceMap::require_own_pages(PageRun run) const noexcept {
  const BitRange bits = bits_of(run);
  check(file_.contains(run.first) && run.pages != 0 && bits.end <= bit_count(),
        "pages that are allocated and freed are pages of the file");
  check(bits.first % stretch_pages_ != 0 &&
            bits.first / stretch_pages_ == (bits.end - 1) / stretch_pages_,
        "map pages are never allocated or freed");
}

std::vector<PageRun> SpaceMap::allocate_extent(std::uint32_t pages, std::uint32_t max_runs,
                                               std::uint32_t more) {
  if (pages == 0 || pages > max_runs * (stretch_pages_ - 1)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} pages do not fit {} runs of at most {} pages", pages, max_runs,
                            stretch_pages_ - 1));
  }
  std::vector<PageRun> runs;
  runs.reserve(std::min(pages, max_runs));  // nothing fails once pages are taken
  for (const BitRange& range : take_or_wait([&] { return claim_extent(pages, max_runs, more); })) {
    runs.push_back({page_of(range.first), static_cast<std::uint32_t>(range.size())});
  }
  return runs;
}

std::vector<BitRange> SpaceMap::claim_extent(std::uint32_t pages, std::uint32_t max_runs,
                                             std::uint32_t more) {
  const std::lock_guard guard(structure_mutex_);
  std::vector<BitRange> taken = extent_from_free(pages, max_runs);
  if (taken.empty()) {
    taken = extent_from_growth(pages, max_runs, more);
  }
  extents_from_ = taken.back().end;  // the next search begins there
  return taken;                      // moved: nothing fails once pages are taken
}

std::uint64_t SpaceMap::growth_pages() const noexcept {
  const std::uint64_t page_size = file_.page_size_bytes();
  const std::uint64_t there = std::max(bit_count(), kGrowthPagesMin) * page_size;
  if (there < kGrowthBytesMin) {
    return there / page_size;
  }
  return std::clamp(file_.page_count() * page_size / kGrowthShare, kGrowthBytesMin,
                    kGrowthBytesMax) /
         page_size;
}

/// Grows the file to hold at least `bits_min` bits, and preferably `bits_wanted`. The new bits are
/// still set, for the caller to hand out and release. structure_mutex_ held.
BitRange SpaceMap::grow(std::uint64_t bits_min, std::uint64_t bits_wanted) {
  const std::uint64_t old_end = bit_count();
  std::uint64_t end = std::max({bits_min, bits_wanted, old_end + growth_pages()});
  const std::uint64_t stretches_old = (old_end + stretch_pages_ - 1) / stretch_pages_;
  const std::uint64_t stretches_new = (end + stretch_pages_ - 1) / stretch_pages_;
  add_stretches(stretches_new);
  try {
    file_.grow(first_page_ + end);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || end == bits_min) {
      throw;
    }
    end = bits_min;  // a nearly full device may still have room for that
    file_.grow(first_page_ + end);
  }
  for (std::uint64_t stretch = stretches_old; stretch < stretches_new; ++stretch) {
    written_bits().set_dirty(stretch);  // it may be a stretch that was cut off before
  }
  return {old_end, end};
}

/// Makes sure that there are `count` stretches. Throws std::bad_alloc; may be called again.
void SpaceMap::add_stretches(std::uint64_t count) {
  while (claims_.stretches() < count) {
    claims_.add_stretch();
  }
  if (Logged* with_log = logged(); with_log != nullptr) {
    while (with_log->bits.stretches() < count) {
      const std::uint64_t base = with_log->bits.stretches() * stretch_pages_;
      with_log->bits.add_stretch();
      with_log->bits.release({base, base + stretch_pages_});
    }
  }
}

bool SpaceMap::is_allocated(PageId id) const noexcept {
  return file_.contains(id) && claims_.is_set(bit_of(id));
}

bool SpaceMap::is_map_page(PageId id) const noexcept {
  return file_.contains(id) && bit_of(id) % stretch_pages_ == 0;
}

SpaceMap::Counts SpaceMap::counts() const noexcept {
  Counts counts;
  const std::uint64_t end = bit_count();
  for (std::uint64_t first = 0; first < end; first += kWordBits) {
    // Bits beyond the end are set: they are no free pages.
    counts.free += static_cast<std::uint64_t>(std::popcount(~claims_.word(first / kWordBits)));
  }
  counts.allocated = end - std::min(end, counts.free);
  return counts;
}

std::uint64_t SpaceMap::free_tail_pages() const noexcept {
  const std::uint64_t end = bit_count();
  std::uint64_t first = end;
  while (first > kFirstFree && (!claims_.is_set(first - 1) || (first - 1) % stretch_pages_ == 0)) {
    --first;
  }
  return end - first;
}

std::uint64_t SpaceMap::truncate_free_tail(std::uint64_t pages_min) {
  complete_frees();
  const std::lock_guard guard(structure_mutex_);
  const std::uint64_t end = bit_count();
  if (end <= 1) {
    return 0;
  }
  const BitRange tail = claim_free_tail(end);
  if (tail.size() < std::max<std::uint64_t>(pages_min, 1)) {
    claims_.release(tail);
    return 0;
  }
  try {
    file_.shrink(first_page_ + tail.first);
  } catch (const Error&) {
    if (bit_count() == end) {
      claims_.release(tail);
    }
    throw;
  }
  return tail.size();
}

/// Claims the pages right before `end` that are free, by the log too. structure_mutex_ held.
BitRange SpaceMap::claim_free_tail(std::uint64_t end) noexcept {
  const BitRange tail = claims_.claim_clear_tail(end, 1);  // the first map page stays
  const Logged* with_log = logged();
  if (with_log == nullptr) {
    return tail;
  }
  std::uint64_t first = tail.end;
  while (first > tail.first &&
         ((first - 1) % stretch_pages_ == 0 || !with_log->bits.is_set(first - 1))) {
    --first;
  }
  claims_.release({tail.first, first});
  return {first, tail.end};
}

void SpaceMap::flush(PageWriter& writer) PALIMPSEST_NO_ANALYSIS {
  const std::lock_guard guard(structure_mutex_);
  if (Logged* with_log = logged(); with_log != nullptr) {
    with_log->latch.lock_exclusive();  // records appended before have left their marks (5)
    with_log->latch.unlock_exclusive_unchanged();
  }
  PageBitmap& bits = written_bits();
  const std::uint64_t stretches = (bit_count() + stretch_pages_ - 1) / stretch_pages_;
  std::vector<std::uint64_t> dirty;
  dirty.reserve(stretches);  // nothing fails between taking a mark and keeping it
  for (std::uint64_t stretch = 0; stretch < stretches; ++stretch) {
    if (bits.take_dirty(stretch)) {
      dirty.push_back(stretch);
    }
  }
  PALIMPSEST_SYNC_POINT("buffer.space.found_changed");
  const std::span<const std::uint64_t> all = dirty;
  for (std::size_t begin = 0; begin < all.size(); begin += writer.batch_pages()) {
    try {
      flush_some(writer, all.subspan(begin, std::min(writer.batch_pages(), all.size() - begin)));
    } catch (...) {
      for (const std::uint64_t stretch : all.subspan(begin)) {
        bits.set_dirty(stretch);
      }
      throw;
    }
  }
}

/// Writes at most one batch of map pages.
void SpaceMap::flush_some(PageWriter& writer,
                          std::span<const std::uint64_t> stretches) PALIMPSEST_NO_ANALYSIS {
  PageWriter::Batch batch = writer.begin_batch();
  Logged* with_log = logged();
  for (const std::uint64_t stretch : stretches) {
    const MutableBytes image{batch.slot(), file_.page_size_bytes()};
    if (with_log == nullptr) {
      make_map_page(stretch, image);
    } else {
      with_log->latch.lock_exclusive();
      make_map_page(stretch, image);
      with_log->latch.unlock_exclusive_unchanged();
    }
    batch.add(page_of(stretch * stretch_pages_));
  }
  batch.write();
}

void SpaceMap::make_map_page(std::uint64_t stretch, MutableBytes image) const noexcept {
  const PageBitmap& bits = written_bits();
  const std::uint64_t base = stretch * stretch_pages_;
  PageHeader header{};
  header.page_id = page_of(base);
  header.type = PageType::space_map;
  header.gsn = Gsn{bits.stamp(stretch)};
  std::memcpy(image.data(), &header, sizeof(header));
  for (std::uint64_t first = 0; first < stretch_pages_; first += kWordBits) {
    set_map_word(image, first / kWordBits, word_in_file(bits, base + first));
  }
}

/// The 64 bits from `first`; those beyond the end of the file are 0.
std::uint64_t SpaceMap::word_in_file(const PageBitmap& bits, std::uint64_t first) const noexcept {
  const std::uint64_t end = bit_count();
  if (first >= end) {
    return 0;
  }
  const std::uint64_t value = bits.word(first / kWordBits);
  return end - first >= kWordBits ? value : value & ((std::uint64_t{1} << (end - first)) - 1);
}

}  // namespace palimpsest::buffer
