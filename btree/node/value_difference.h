// Finds where two values of one length differ, for the log record and the version of an update.
//
// Blocks of bytes are compared at once; an equal block, as most are, costs a few instructions. Runs
// closer to each other than kRunGapMin are joined, because beginning a run costs as much.
// Failure: none; nothing allocates. Thread-safety: pure functions.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace palimpsest::btree {

/// Unchanged bytes between two changed ones from which on two runs are shorter than one: a run
/// mostly begins with two bytes.
inline constexpr std::size_t kRunGapMin = 3;

namespace detail {

/// Bit i is set if byte i of the block differs.
template <std::size_t kBytes>
[[nodiscard]] inline std::uint64_t differing_bytes(const char* before, const char* after) noexcept {
  static_assert(kBytes <= 64);
  std::uint64_t differing = 0;
#ifdef __SSE2__
  if constexpr (kBytes % 16 == 0) {
    const auto equal = [&](std::size_t at) {
      const auto load = [at](const char* bytes) {
        return _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(bytes + at)));
      };
      return _mm_cmpeq_epi8(load(before), load(after));
    };
    __m128i all = equal(0);
    for (std::size_t at = 16; at < kBytes; at += 16) {
      all = _mm_and_si128(all, equal(at));
    }
    if (_mm_movemask_epi8(all) == 0xFFFF) {
      return 0;
    }
    for (std::size_t at = 0; at < kBytes; at += 16) {
      const auto mask = static_cast<std::uint64_t>(~_mm_movemask_epi8(equal(at)) & 0xFFFF);
      differing |= mask << at;
    }
    return differing;
  }
#endif
  for (std::size_t i = 0; i < kBytes; ++i) {
    differing |= std::uint64_t{before[i] != after[i]} << i;
  }
  return differing;
}

/// Calls use(offset, length) for runs, in ascending order, with close ones joined.
template <class Use>
class RunJoiner {
 public:
  explicit RunJoiner(Use& use) noexcept : use_(use) {}

  /// Bit i: byte `base` + i differs.
  void add(std::size_t base, std::uint64_t differing) noexcept {
    static_assert(kRunGapMin == 3, "gaps of one and two bytes are filled");
    const std::uint64_t ones = (differing << 1U) & (differing >> 1U);
    const std::uint64_t twos =
        ((differing << 1U) & (differing >> 2U)) | ((differing << 2U) & (differing >> 1U));
    for (std::uint64_t left = differing | ones | twos; left != 0;) {
      const int begin = std::countr_zero(left);
      const int length = std::countr_one(left >> begin);
      add_run(base + static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
      left = begin + length == 64 ? 0 : left >> (begin + length) << (begin + length);
    }
  }
  void finish() noexcept {
    if (end_ != begin_) {
      use_(begin_, end_ - begin_);
    }
  }

 private:
  void add_run(std::size_t begin, std::size_t length) noexcept {
    if (end_ == begin_ || begin - end_ >= kRunGapMin) {
      finish();
      begin_ = begin;
    }
    end_ = begin + length;
  }

  Use& use_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;  ///< begin_: there is no run yet
};

/// Compares blocks of kBytes, at least one; the last may overlap the one before it.
template <std::size_t kBytes, class Joiner>
inline void join_blocks(ByteView before, ByteView after, std::size_t from,
                        Joiner& joiner) noexcept {
  const std::size_t size = before.size();
  std::size_t at = from;
  for (; at + kBytes <= size; at += kBytes) {
    if (const auto mask = differing_bytes<kBytes>(before.data() + at, after.data() + at)) {
      joiner.add(at, mask);
    }
  }
  if (at < size) {
    const std::size_t last = size - kBytes;
    const auto mask = differing_bytes<kBytes>(before.data() + last, after.data() + last);
    joiner.add(at, mask >> (at - last));
  }
}

}  // namespace detail

/// Calls use(offset, length) for each run of bytes, from `from` on, in which two values of one
/// length differ.
template <class Use>
inline void for_each_difference(ByteView before, ByteView after, std::size_t from,
                                Use use) noexcept {
  detail::RunJoiner<Use> joiner(use);
  const std::size_t left = before.size() - from;
  if (left >= 64) {
    detail::join_blocks<64>(before, after, from, joiner);
  } else if (left >= 16) {
    detail::join_blocks<16>(before, after, from, joiner);
  } else {
    for (std::size_t at = from; at < before.size(); ++at) {
      joiner.add(at, std::uint64_t{before[at] != after[at]});
    }
  }
  joiner.finish();
}

/// Writes before ^ after to `into`, which overlaps neither.
inline void put_difference(ByteView before, const char* after, std::byte* into) noexcept {
  const auto put = [&]<class Word>(Word, std::size_t at) {
    Word x = 0;
    Word y = 0;
    std::memcpy(&x, before.data() + at, sizeof x);
    std::memcpy(&y, after + at, sizeof y);
    x = static_cast<Word>(x ^ y);
    std::memcpy(into + at, &x, sizeof x);
  };
  const std::size_t size = before.size();
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      put(std::uint64_t{}, at);
    }
    put(std::uint64_t{}, size - 8);  // may write some bytes twice
    return;
  }
  if (size >= 4) {
    put(std::uint32_t{}, 0);
    put(std::uint32_t{}, size - 4);
    return;
  }
  for (std::size_t at = 0; at < size; ++at) {
    put(std::uint8_t{}, at);
  }
}

}  // namespace palimpsest::btree
