#include "buffer/space_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kWordBits = 64;
constexpr std::uint64_t kGrowthBytesMin = std::uint64_t{1} << 20;
constexpr std::uint64_t kGrowthBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kGrowthShare = 16;  ///< the file grows by 1/16
constexpr std::size_t kLoadPages = 16;      ///< map pages read together
constexpr int kClaimAttempts = 4;           ///< free runs lost to others before the file grows

std::uint64_t stretch_pages_of(std::uint32_t page_size_bytes) {
  return (page_size_bytes - sizeof(PageHeader)) * 8;
}

std::uint64_t read_word(ConstBytes image, std::uint64_t word) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, image.data() + sizeof(PageHeader) + word * sizeof(value), sizeof(value));
  return value;
}

/// Whether the page has never been written: a hole in a file that has grown.
bool is_blank(ConstBytes image) {
  return std::all_of(image.begin(), image.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::uint64_t total(std::span<const BitRange> runs) {
  return std::accumulate(runs.begin(), runs.end(), std::uint64_t{0},
                         [](std::uint64_t sum, BitRange run) { return sum + run.size(); });
}

}  // namespace

SpaceMap::SpaceMap(PageFile& file)
    : file_(file),
      first_page_(raw(file.first_page())),
      stretch_pages_(stretch_pages_of(file.page_size_bytes())),
      bits_(stretch_pages_) {
  load();
}

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
      const bool blank = !file_.was_clean() && reads[i].io_error == 0 && is_blank(reads[i].into);
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
  const bool blank = is_blank(image);
  if (!blank && header_of(image).type != PageType::space_map) {
    refuse(fmt::format("its type is {}, not space_map", name_of(header_of(image).type)));
  }
  if (!blank && (read_word(image, 0) & 1) == 0) {
    refuse("it is not marked as in use itself");
  }
  bits_.add_stretch();
  const std::uint64_t base = stretch * stretch_pages_;
  const std::uint64_t end = std::min(stretch_pages_, bit_count() - base);
  for (std::uint64_t first = 0; first < stretch_pages_; first += kWordBits) {
    const std::uint64_t value = read_word(image, first / kWordBits);
    const std::uint64_t inside = end <= first ? 0 : std::min(end - first, kWordBits);
    if (inside < kWordBits && value >> inside != 0 && file_.was_clean()) {
      refuse(fmt::format("pages from {} on are marked as in use, the file ends at page {}",
                         raw(page_of(base + first + inside)), file_.page_count()));
    }
    for (std::uint64_t bit = 0; bit < inside;) {  // release runs of clear bits
      const auto set = static_cast<std::uint64_t>(std::countr_one(value >> bit));
      const std::uint64_t from = std::min(bit + set, inside);
      const std::uint64_t clear =
          from < inside ? static_cast<std::uint64_t>(std::countr_zero(value >> from)) : 0;
      const std::uint64_t to = std::min(from + clear, inside);
      if (from < to) {
        bits_.release({base + first + from, base + first + to});
      }
      bit = to;
    }
  }
  if (!blank) {
    static_cast<void>(bits_.take_dirty(stretch));
  }
}

PageId SpaceMap::allocate(std::uint32_t stripe) {
  if (const auto bit = bits_.take(stripe)) {
    return page_of(*bit);
  }
  const std::lock_guard guard(structure_mutex_);
  if (const auto bit = bits_.take(stripe)) {  // somebody else has grown the file, or freed
    return page_of(*bit);
  }
  if (const auto bit = bits_.take_anywhere()) {
    return page_of(*bit);
  }
  const std::uint64_t old_end = bit_count();
  const std::uint64_t taken = old_end % stretch_pages_ == 0 ? old_end + 1 : old_end;
  const BitRange grown = grow(taken + 1);
  bits_.release({taken + 1, grown.end});
  return page_of(taken);
}

void SpaceMap::free(PageRun run) noexcept {
  const BitRange bits = bits_of(run);
  check(file_.contains(run.first) && run.pages != 0 && bits.end <= bit_count(),
        "freed pages are pages of the file");
  check(bits.first % stretch_pages_ != 0 &&
            bits.first / stretch_pages_ == (bits.end - 1) / stretch_pages_,
        "map pages are never freed");
  if (!bits_.release(bits)) {
    // The map on disk was wrong: what else it says is not to be built upon.
    file_.fail("a page was given back that the space map calls free");
  }
}

std::vector<PageRun> SpaceMap::allocate_extent(std::uint32_t pages, std::uint32_t max_runs) {
  if (pages == 0 || pages > max_runs * (stretch_pages_ - 1)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} pages do not fit {} runs of at most {} pages", pages, max_runs,
                            stretch_pages_ - 1));
  }
  std::vector<PageRun> runs;
  runs.reserve(std::min(pages, max_runs));  // nothing fails once pages are taken
  const std::lock_guard guard(structure_mutex_);
  std::vector<BitRange> taken = extent_from_free(pages, max_runs);
  if (taken.empty()) {
    taken = extent_from_growth(pages, max_runs);
  }
  for (const BitRange& range : taken) {
    runs.push_back({page_of(range.first), static_cast<std::uint32_t>(range.size())});
  }
  return runs;
}

/// Takes free pages; empty if there are too few, or others were faster.
std::vector<BitRange> SpaceMap::extent_from_free(std::uint32_t pages, std::uint32_t max_runs) {
  for (int attempt = 0; attempt < kClaimAttempts; ++attempt) {
    std::vector<BitRange> runs = bits_.find_clear_runs(pages, max_runs);  // not const: to be moved
    std::size_t claimed = 0;
    while (claimed < runs.size() && bits_.try_claim(runs[claimed])) {
      ++claimed;
    }
    if (claimed == runs.size()) {
      return runs;
    }
    for (std::size_t i = 0; i < claimed; ++i) {
      bits_.release(runs[i]);
    }
  }
  return {};
}

/// Takes new pages at the end of the file: one run, or as few as map pages allow.
std::vector<BitRange> SpaceMap::extent_from_growth(std::uint32_t pages, std::uint32_t max_runs) {
  const auto longer = [](const BitRange& a, const BitRange& b) {
    return a.size() != b.size() ? a.size() > b.size() : a.first < b.first;
  };
  std::vector<BitRange> pieces;
  // Longer and longer, until the longest pieces between map pages are enough.
  for (BitRange wanted{bit_count(), bit_count() + pages};; wanted.end += pages) {
    pieces = between_map_pages(wanted);
    std::sort(pieces.begin(), pieces.end(), longer);
    pieces.resize(std::min<std::size_t>(pieces.size(), max_runs));
    if (total(pieces) >= pages) {
      break;
    }
  }
  std::uint64_t end_min = 0;
  std::uint64_t missing = pages;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].end = pieces[i].first + std::min(pieces[i].size(), missing);
    missing -= pieces[i].size();
    end_min = std::max(end_min, pieces[i].end);
    if (missing == 0) {
      pieces.resize(i + 1);
    }
  }
  const BitRange grown = grow(end_min);
  std::sort(pieces.begin(), pieces.end(),
            [](const BitRange& a, const BitRange& b) { return a.first < b.first; });
  std::uint64_t from = grown.first;
  for (const BitRange& piece : pieces) {
    bits_.release({from, piece.first});
    from = piece.end;
  }
  bits_.release({from, grown.end});
  return pieces;
}

/// The parts of a range that are not map pages.
std::vector<BitRange> SpaceMap::between_map_pages(BitRange range) const {
  std::vector<BitRange> pieces;
  for (std::uint64_t first = range.first; first < range.end;) {
    if (first % stretch_pages_ == 0) {
      ++first;
      continue;
    }
    const std::uint64_t end = std::min(range.end, (first / stretch_pages_ + 1) * stretch_pages_);
    pieces.push_back({first, end});
    first = end;
  }
  return pieces;
}

/// Grows the file to hold at least `bits_min` bits; the new bits are still set, for the caller to
/// hand out and release. structure_mutex_ held.
BitRange SpaceMap::grow(std::uint64_t bits_min) {
  const std::uint64_t old_end = bit_count();
  const std::uint64_t page_size = file_.page_size_bytes();
  const std::uint64_t step_bytes =
      std::clamp(file_.page_count() * page_size / kGrowthShare, kGrowthBytesMin, kGrowthBytesMax);
  std::uint64_t end = std::max(bits_min, old_end + step_bytes / page_size);
  const std::uint64_t stretches_old = (old_end + stretch_pages_ - 1) / stretch_pages_;
  const std::uint64_t stretches_new = (end + stretch_pages_ - 1) / stretch_pages_;
  while (bits_.stretches() < stretches_new) {
    bits_.add_stretch();
  }
  try {
    file_.grow(first_page_ + end);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space || end == bits_min) {
      throw;
    }
    end = bits_min;  // a nearly full device may still have that
    file_.grow(first_page_ + end);
  }
  for (std::uint64_t stretch = stretches_old; stretch < stretches_new; ++stretch) {
    bits_.set_dirty(stretch);  // it may be a stretch that was cut off before
  }
  return {old_end, end};
}

bool SpaceMap::is_allocated(PageId id) const noexcept {
  return file_.contains(id) && bits_.is_set(bit_of(id));
}

bool SpaceMap::is_map_page(PageId id) const noexcept {
  return file_.contains(id) && bit_of(id) % stretch_pages_ == 0;
}

SpaceMap::Counts SpaceMap::counts() const noexcept {
  Counts counts;
  const std::uint64_t end = bit_count();
  for (std::uint64_t first = 0; first < end; first += kWordBits) {
    // Bits beyond the end are set: they are no free pages.
    counts.free += static_cast<std::uint64_t>(std::popcount(~bits_.word(first / kWordBits)));
  }
  counts.allocated = end - std::min(end, counts.free);
  return counts;
}

std::uint64_t SpaceMap::truncate_free_tail() {
  const std::lock_guard guard(structure_mutex_);
  const std::uint64_t end = bit_count();
  if (end <= 1) {
    return 0;
  }
  const BitRange tail = bits_.claim_clear_tail(end, 1);  // the first map page stays
  if (tail.size() == 0) {
    return 0;
  }
  try {
    file_.shrink(first_page_ + tail.first);
  } catch (const Error&) {
    if (bit_count() == end) {
      bits_.release(tail);
    }
    throw;
  }
  return tail.size();
}

void SpaceMap::flush(PageWriter& writer) {
  const std::lock_guard guard(structure_mutex_);
  const std::uint64_t stretches = (bit_count() + stretch_pages_ - 1) / stretch_pages_;
  std::vector<std::uint64_t> dirty;
  dirty.reserve(stretches);  // nothing fails between taking a mark and keeping it
  for (std::uint64_t stretch = 0; stretch < stretches; ++stretch) {
    if (bits_.take_dirty(stretch)) {
      dirty.push_back(stretch);
    }
  }
  const std::span<const std::uint64_t> all = dirty;
  for (std::size_t begin = 0; begin < all.size(); begin += writer.batch_pages()) {
    try {
      flush_some(writer, all.subspan(begin, std::min(writer.batch_pages(), all.size() - begin)));
    } catch (...) {
      for (const std::uint64_t stretch : all.subspan(begin)) {
        bits_.set_dirty(stretch);
      }
      throw;
    }
  }
}

/// Writes at most one batch of map pages.
void SpaceMap::flush_some(PageWriter& writer, std::span<const std::uint64_t> stretches) {
  PageWriter::Batch batch = writer.begin_batch();
  for (const std::uint64_t stretch : stretches) {
    make_map_page(stretch, {batch.slot(), file_.page_size_bytes()});
    batch.add(page_of(stretch * stretch_pages_));
  }
  batch.write();
}

void SpaceMap::make_map_page(std::uint64_t stretch, MutableBytes image) const noexcept {
  const std::uint64_t base = stretch * stretch_pages_;
  PageHeader header{};
  header.page_id = page_of(base);
  header.type = PageType::space_map;
  std::memcpy(image.data(), &header, sizeof(header));
  const std::uint64_t end = std::min(stretch_pages_, bit_count() - base);
  for (std::uint64_t first = 0; first < stretch_pages_; first += kWordBits) {
    std::uint64_t value = 0;
    if (first < end) {
      value = bits_.word((base + first) / kWordBits);
      value &=
          end - first >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - first)) - 1;
    }
    std::memcpy(image.data() + sizeof(PageHeader) + first / 8, &value, sizeof(value));
  }
}

std::string print_space_map_page(ConstBytes page) {
  std::string text = print_page_header(page) + "\n  in use:";
  const std::uint64_t bits = (page.size() - sizeof(PageHeader)) * 8;
  const auto is_set = [&](std::uint64_t bit) {
    return (read_word(page, bit / kWordBits) >> (bit % kWordBits) & 1) != 0;
  };
  const std::uint64_t base = raw(header_of(page).page_id);
  for (std::uint64_t first = 0; first < bits; ++first) {
    if (is_set(first)) {
      std::uint64_t last = first;
      while (last + 1 < bits && is_set(last + 1)) {
        ++last;
      }
      text += fmt::format(" {}", base + first);
      if (last != first) {
        text += fmt::format("-{}", base + last);
      }
      first = last;
    }
  }
  return text + "\n";
}

}  // namespace palimpsest::buffer
