// What a search inside a node reads: hints, and slots with the starts of their keys. Internal to
// btree's nodes; node_search.h explains.
#pragma once

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/prefetch.h"
#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

/// How many hints are below `head`; with `OrEqual`, below or equal.
template <bool OrEqual>
[[nodiscard]] inline std::uint32_t count_hints(const std::byte* page, std::uint32_t head) noexcept {
  const std::byte* hints = page + kNodeHeaderOffset + offsetof(NodeHeader, hint);
#ifdef __SSE4_1__
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(head));
  const auto lanes = [&](std::size_t at) {
    const __m128i four =
        _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(hints + at)));
    // Unsigned comparison: a <= b is max(a, b) == b.
    if constexpr (OrEqual) {
      return _mm_cmpeq_epi32(_mm_max_epu32(four, wanted), wanted);
    } else {
      return _mm_cmpeq_epi32(_mm_max_epu32(four, wanted), four);  // not below
    }
  };
  const __m128i packed =
      _mm_packs_epi16(_mm_packs_epi32(lanes(0), lanes(16)), _mm_packs_epi32(lanes(32), lanes(48)));
  const auto bits = static_cast<std::uint32_t>(
      std::popcount(static_cast<std::uint32_t>(_mm_movemask_epi8(packed))));
  return OrEqual ? bits : kHintCount - bits;
#else
  std::uint32_t below = 0;
  for (std::uint32_t i = 0; i < kHintCount; ++i) {
    const auto hint = load_once<std::uint32_t>(hints + i * sizeof(std::uint32_t));
    below += (OrEqual ? hint <= head : hint < head) ? 1 : 0;
  }
  return below;
#endif
}

/// The slot of the head in hint `i`, in a node of `count` slots; `count` for i = 16.
[[nodiscard]] constexpr SlotIndex hinted_slot(std::uint32_t i, SlotIndex count) noexcept {
  return i * count / kHintCount;
}

/// Reads the slots of a node for the search.
template <class Slot>
class SlotReader {
 public:
  SlotReader(const NodeView& node, std::uint32_t head_skip) noexcept
      : heads_(node.page() + kSlotsOffset + offsetof(Slot, head)),
        page_(node.page()),
        page_size_(node.page_size()),
        head_skip_(head_skip) {}

  /// Prefetches three cache lines of slots from `first` on at once: the binary search would wait
  /// for them one after the other.
  void prefetch(std::size_t first) const noexcept {
    const std::byte* const begin = heads_ + first * sizeof(Slot);
    prefetch_line(begin);
    prefetch_line(begin + kCacheLineBytes);
    prefetch_line(begin + 2 * kCacheLineBytes);
  }
  [[nodiscard]] std::uint32_t head(std::size_t slot) const noexcept {
    return load_once<std::uint32_t>(heads_ + slot * sizeof(Slot));
  }
  /// The suffix, bounded; empty if its bytes do not lie in the page.
  [[nodiscard]] ByteView suffix(std::size_t slot) const noexcept {
    const std::byte* at = heads_ + slot * sizeof(Slot);
    const std::uint32_t offset = load_once<std::uint16_t>(at + 4);
    const std::uint32_t len = load_once<std::uint16_t>(at + 6);
    return offset + len <= page_size_ ? as_view(page_ + offset, len) : as_view(page_, 0);
  }
  /// What follows head_skip in the suffix; the head is that of these bytes.
  [[nodiscard]] ByteView rest(std::size_t slot) const noexcept {
    const ByteView all = suffix(slot);
    const std::size_t skipped = std::min<std::size_t>(head_skip_, all.size());
    return {all.data() + skipped, all.size() - skipped};
  }
  /// Compares `other` with the rest of a slot. `word` is the word of `other`.
  [[nodiscard]] int compare(std::uint64_t word, ByteView other, std::size_t slot) const noexcept {
    const ByteView rest = this->rest(slot);
    const std::uint64_t here = word_in_page(rest);
    return word != here ? (word < here ? -1 : 1) : compare_after_word(other, rest);
  }

 private:
  /// Reads beyond a short rest, but not beyond the page.
  [[nodiscard]] std::uint64_t word_in_page(ByteView rest) const noexcept {
    const auto* begin = static_cast<const std::byte*>(static_cast<const void*>(rest.data()));
    if (rest.size() >= kWordBytes || begin + kWordBytes > page_ + page_size_) {
      return word_of(rest.data(), rest.size());
    }
    const std::uint64_t wanted = ~(~std::uint64_t{0} >> 8 * rest.size());
    return word_of(rest.data(), kWordBytes) & wanted;
  }

  const std::byte* heads_;
  const std::byte* page_;
  std::uint32_t page_size_;
  std::uint32_t head_skip_;
};

/// A range of slots: slots before `first` have heads below a key's, slots from `last` on have not.
struct SlotRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The range in which the hints leave the first slot, among `count`, with a head not below `head`.
[[nodiscard, gnu::always_inline]] inline SlotRange hinted_range(const std::byte* page,
                                                                SlotIndex count,
                                                                std::uint32_t head) noexcept {
  const std::uint32_t hints_below = count_hints<false>(page, head);
  // Slot hinted_slot(hints_below - 1) is below the head, slot hinted_slot(hints_below) is not.
  // Without a hint below, the subtraction wraps, and the minimum is 0.
  const std::uint32_t scaled = hints_below * count;
  const std::size_t last = scaled / kHintCount;
  return {.first = std::min<std::size_t>((scaled - count) / kHintCount + 1, last), .last = last};
}

}  // namespace palimpsest::btree
