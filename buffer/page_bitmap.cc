#include "buffer/page_bitmap.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include "base/check.h"

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kWordBits = 64;
constexpr std::uint64_t kAllSet = ~std::uint64_t{0};

/// Bits [from, to) of a word.
std::uint64_t mask(std::uint64_t from, std::uint64_t to) noexcept {
  const std::uint64_t below_to = to == kWordBits ? kAllSet : (std::uint64_t{1} << to) - 1;
  return below_to & (kAllSet << from);
}

/// The bits of the range that lie in this word.
std::uint64_t mask_within(std::uint64_t word, BitRange range) noexcept {
  const std::uint64_t base = word * kWordBits;
  return mask(std::max(range.first, base) - base, std::min(range.end, base + kWordBits) - base);
}

}  // namespace

struct PageBitmap::Stretch {
  std::unique_ptr<Word[]> words;    ///< the bits
  std::unique_ptr<Word[]> summary;  ///< a bit per word
  std::atomic<bool> dirty{true};
  std::atomic<std::uint64_t> stamp{0};
};

PageBitmap::PageBitmap(std::uint64_t stretch_bits) : stretch_words_(stretch_bits / kWordBits) {
  check(stretch_bits != 0 && stretch_bits % kWordBits == 0, "a stretch is a number of words");
}

PageBitmap::~PageBitmap() {
  for (std::atomic<Stretch*>& segment : segments_) {
    delete[] segment.load(std::memory_order_relaxed);
  }
}

void PageBitmap::add_stretch() {
  const std::uint64_t number = stretches() + 1;  // from 1: segment k holds [2^k, 2^(k+1))
  const auto segment = static_cast<std::uint32_t>(std::bit_width(number) - 1);
  check(segment < kSegments, "a page file has fewer than 2^40 map pages");
  if (segments_[segment].load(std::memory_order_relaxed) == nullptr) {
    segments_[segment].store(new Stretch[std::uint64_t{1} << segment], std::memory_order_release);
  }
  Stretch& stretch = stretch_at(number - 1);
  const std::uint64_t summary_words = (stretch_words_ + kWordBits - 1) / kWordBits;
  if (stretch.words == nullptr) {
    stretch.words = std::make_unique<Word[]>(stretch_words_);
  }
  if (stretch.summary == nullptr) {
    stretch.summary = std::make_unique<Word[]>(summary_words);
  }
  for (std::uint64_t i = 0; i < stretch_words_; ++i) {
    stretch.words[i].store(kAllSet, std::memory_order_relaxed);
  }
  stretch_count_.store(number, std::memory_order_release);
}

PageBitmap::Stretch& PageBitmap::stretch_at(std::uint64_t stretch) const noexcept {
  const std::uint64_t number = stretch + 1;
  const auto segment = static_cast<std::uint32_t>(std::bit_width(number) - 1);
  return segments_[segment].load(std::memory_order_acquire)[number - (std::uint64_t{1} << segment)];
}

PageBitmap::Word& PageBitmap::at(std::uint64_t word) const noexcept {
  return stretch_at(word / stretch_words_).words[word % stretch_words_];
}

std::optional<std::uint64_t> PageBitmap::take(std::uint32_t stripe) noexcept {
  std::atomic<std::uint64_t>& held = stripes_[stripe % kStripes].word;
  if (const std::uint64_t word = held.load(std::memory_order_relaxed); word != 0) {
    if (const auto bit = try_take(word - 1)) {
      return bit;
    }
  }
  const std::uint64_t start = search_from_.load();
  std::uint64_t from = start;
  while (const auto word = next_offered(from)) {
    if (*word > start) {
      // Fails if another thread has just lowered it: then this one must not raise it.
      std::uint64_t expected = start;
      search_from_.compare_exchange_strong(expected, *word);
    }
    if (accept(*word)) {
      const std::uint64_t given_up = held.exchange(*word + 1, std::memory_order_relaxed);
      if (given_up != 0 && at(given_up - 1).load() != kAllSet) {
        offer(given_up - 1);
      }
      if (const auto bit = try_take(*word)) {
        return bit;
      }
    }
    from = *word + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> PageBitmap::take_anywhere() noexcept {
  const std::uint64_t count = words();
  for (std::uint64_t word = 0; word < count; ++word) {
    if (const auto bit = try_take(word)) {
      return bit;
    }
  }
  return std::nullopt;
}

/// Takes the lowest clear bit of a word (invariant 1).
std::optional<std::uint64_t> PageBitmap::try_take(std::uint64_t word) noexcept {
  Word& bits = at(word);
  std::uint64_t seen = bits.load();
  while (seen != kAllSet) {
    const auto lowest = static_cast<std::uint64_t>(std::countr_one(seen));
    if (bits.compare_exchange_weak(seen, seen | (std::uint64_t{1} << lowest))) {
      changed(word);
      return word * kWordBits + lowest;
    }
  }
  return std::nullopt;
}

/// The first word from `from` on whose summary bit is set.
std::optional<std::uint64_t> PageBitmap::next_offered(std::uint64_t from) const noexcept {
  const std::uint64_t count = stretches();
  for (std::uint64_t stretch = from / stretch_words_; stretch < count; ++stretch) {
    const Word* summary = stretch_at(stretch).summary.get();
    const std::uint64_t begin = stretch * stretch_words_;
    for (std::uint64_t i = std::max(from, begin) - begin; i < stretch_words_;
         i = (i / kWordBits + 1) * kWordBits) {
      const std::uint64_t offered = summary[i / kWordBits].load() & (kAllSet << (i % kWordBits));
      if (offered != 0) {
        return begin + i / kWordBits * kWordBits +
               static_cast<std::uint64_t>(std::countr_zero(offered));
      }
    }
  }
  return std::nullopt;
}

/// Clears a word's summary bit; true for the one caller that did (invariant 2).
bool PageBitmap::accept(std::uint64_t word) noexcept {
  const std::uint64_t index = word % stretch_words_;
  const std::uint64_t bit = std::uint64_t{1} << (index % kWordBits);
  Word& summary = stretch_at(word / stretch_words_).summary[index / kWordBits];
  return (summary.fetch_and(~bit) & bit) != 0;
}

/// Sets a word's summary bit, for any stripe to accept.
void PageBitmap::offer(std::uint64_t word) noexcept {
  const std::uint64_t index = word % stretch_words_;
  stretch_at(word / stretch_words_)
      .summary[index / kWordBits]
      .fetch_or(std::uint64_t{1} << (index % kWordBits));
  std::uint64_t lowest = search_from_.load();
  while (word < lowest && !search_from_.compare_exchange_weak(lowest, word)) {
  }
}

void PageBitmap::changed(std::uint64_t word) noexcept {
  set_dirty(word / stretch_words_);
}

void PageBitmap::set_dirty(std::uint64_t stretch) noexcept {
  std::atomic<bool>& dirty = stretch_at(stretch).dirty;
  if (!dirty.load()) {  // a plain load keeps the line shared; sequentially consistent with
                        // take_dirty
    dirty.store(true);
  }
}

bool PageBitmap::take_dirty(std::uint64_t stretch) noexcept {
  return stretch_at(stretch).dirty.exchange(false);
}

void PageBitmap::raise_stamp(std::uint64_t stretch, std::uint64_t to) noexcept {
  std::atomic<std::uint64_t>& stamp = stretch_at(stretch).stamp;
  std::uint64_t seen = stamp.load();
  while (seen < to && !stamp.compare_exchange_weak(seen, to)) {
  }
}

std::uint64_t PageBitmap::stamp(std::uint64_t stretch) const noexcept {
  return stretch_at(stretch).stamp.load();
}

void PageBitmap::fill(BitRange range) noexcept {
  for (std::uint64_t word = range.first / kWordBits; word * kWordBits < range.end; ++word) {
    at(word).fetch_or(mask_within(word, range));
    changed(word);
  }
}

bool PageBitmap::try_claim(BitRange range) noexcept {
  for (std::uint64_t word = range.first / kWordBits; word * kWordBits < range.end; ++word) {
    const std::uint64_t wanted = mask_within(word, range);
    std::uint64_t seen = at(word).load();
    while ((seen & wanted) == 0 && !at(word).compare_exchange_weak(seen, seen | wanted)) {
    }
    if ((seen & wanted) != 0) {
      if (word * kWordBits > range.first) {
        release({range.first, word * kWordBits});
      }
      return false;
    }
    changed(word);
  }
  return true;
}

bool PageBitmap::release(BitRange range) noexcept {
  bool all_were_set = true;
  for (std::uint64_t word = range.first / kWordBits; word * kWordBits < range.end; ++word) {
    const std::uint64_t first_bit = word % stretch_words_ == 0 ? 1 : 0;
    if (const std::uint64_t bits = mask_within(word, range) & ~first_bit; bits != 0) {
      all_were_set = release_bits(word, bits) && all_were_set;
    }
  }
  return all_were_set;
}

void PageBitmap::release_zeros(std::uint64_t first, std::uint64_t value,
                               std::uint64_t count) noexcept {
  for (std::uint64_t bit = 0; bit < count;) {
    const auto set = static_cast<std::uint64_t>(std::countr_one(value >> bit));
    const std::uint64_t from = std::min(bit + set, count);
    const std::uint64_t clear =
        from < count ? static_cast<std::uint64_t>(std::countr_zero(value >> from)) : 0;
    const std::uint64_t to = std::min(from + clear, count);
    if (from < to) {
      release({first + from, first + to});
    }
    bit = to;
  }
}

bool PageBitmap::release_bits(std::uint64_t word, std::uint64_t bits) noexcept {
  const std::uint64_t before = at(word).fetch_and(~bits);
  changed(word);
  offer(word);
  return (before & bits) == bits;
}

bool PageBitmap::is_set(std::uint64_t bit) const noexcept {
  return (word(bit / kWordBits) >> (bit % kWordBits) & 1) != 0;
}

/// The first bit from `from` on that is set, or clear; the number of bits if there is none.
std::uint64_t PageBitmap::find_next(std::uint64_t from, bool set) const noexcept {
  const std::uint64_t count = words();
  for (std::uint64_t at_word = from / kWordBits; at_word < count; ++at_word) {
    std::uint64_t wanted = set ? word(at_word) : ~word(at_word);
    if (at_word == from / kWordBits) {
      wanted &= kAllSet << (from % kWordBits);
    }
    if (wanted != 0) {
      return at_word * kWordBits + static_cast<std::uint64_t>(std::countr_zero(wanted));
    }
  }
  return count * kWordBits;
}

/// Empty at the end of the map if there is none.
BitRange PageBitmap::next_clear_run(std::uint64_t from) const noexcept {
  const std::uint64_t first = find_next(from, false);
  return {first, find_next(first, true)};
}

std::vector<BitRange> PageBitmap::find_clear_runs(std::uint64_t bits, std::uint32_t max_runs,
                                                  std::uint64_t from) const {
  for (BitRange run = next_clear_run(from); from != 0 && run.size() != 0;
       run = next_clear_run(run.end)) {
    if (run.size() >= bits) {
      return {{run.first, run.first + bits}};
    }
  }
  return find_clear_runs_below(std::numeric_limits<std::uint64_t>::max(), bits, max_runs);
}

std::vector<BitRange> PageBitmap::find_clear_runs_below(std::uint64_t end, std::uint64_t bits,
                                                        std::uint32_t max_runs) const {
  const auto longer = [](const BitRange& a, const BitRange& b) { return a.size() > b.size(); };
  std::vector<BitRange> longest;  // a heap with the shortest run in front
  for (BitRange run = next_clear_run(0); run.size() != 0 && run.first < end;
       run = next_clear_run(run.end)) {
    run.end = std::min(run.end, end);
    if (run.size() >= bits) {
      return {{run.first, run.first + bits}};
    }
    longest.push_back(run);
    std::push_heap(longest.begin(), longest.end(), longer);
    if (longest.size() > max_runs) {
      std::pop_heap(longest.begin(), longest.end(), longer);
      longest.pop_back();
    }
  }
  std::sort(longest.begin(), longest.end(), longer);
  for (std::size_t i = 0; i < longest.size(); ++i) {
    if (longest[i].size() >= bits) {
      longest[i].end = longest[i].first + bits;
      longest.resize(i + 1);
      return longest;
    }
    bits -= longest[i].size();
  }
  return {};
}

std::optional<std::uint64_t> PageBitmap::take_lowest(BitRange within) noexcept {
  for (;;) {
    const std::uint64_t bit = find_next(within.first, false);
    if (bit >= within.end) {
      return std::nullopt;
    }
    if (try_claim({bit, bit + 1})) {
      return bit;
    }
  }
}

// A stripe that is using the word it has just lost takes one more bit of it: words are hints.
void PageBitmap::let_go_of_words() noexcept {
  for (Stripe& stripe : stripes_) {
    const std::uint64_t held = stripe.word.exchange(0, std::memory_order_relaxed);
    if (held != 0 && at(held - 1).load() != kAllSet) {
      offer(held - 1);
    }
  }
}

BitRange PageBitmap::claim_clear_tail(std::uint64_t end, std::uint64_t keep) noexcept {
  std::uint64_t begin = end;
  while (begin > keep) {
    const std::uint64_t word = (begin - 1) / kWordBits;
    const std::uint64_t base = word * kWordBits;
    const std::uint64_t within = mask_within(word, {std::max(base, keep), begin});
    // Everything behind a stretch's first bit is claimed by now, so the first bit goes with it.
    const std::uint64_t first_bit = word % stretch_words_ == 0 ? within & 1 : 0;
    std::uint64_t seen = at(word).load();
    std::uint64_t wanted = 0;
    do {
      const std::uint64_t taken = seen & within & ~first_bit;
      wanted = taken == 0 ? within
                          : within & ~mask(0, static_cast<std::uint64_t>(std::bit_width(taken)));
    } while (!at(word).compare_exchange_weak(seen, seen | wanted));
    changed(word);
    if (wanted != within) {
      return {base + static_cast<std::uint64_t>(std::bit_width(within & ~wanted)), end};
    }
    begin = std::max(base, keep);
  }
  return {begin, end};
}

}  // namespace palimpsest::buffer
