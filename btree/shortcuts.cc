#include "btree/shortcuts.h"

#include <bit>
#include <cstring>
#include <ctime>
#include <new>

#include "btree/node/key_bytes.h"

#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

namespace palimpsest::btree {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kHighestWord = ~std::uint64_t{0};

std::uint64_t load_word(const char* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

/// The first bytes of the key, padded with zeros.
Shortcuts::Looked Shortcuts::look(ByteView key) noexcept {
  if (key.size() >= kBytesLooked) {
    return {load_word(key.data()), load_word(key.data() + kWordBytes)};
  }
  if (key.size() > kWordBytes) {
    // The last eight bytes, without those that are in the lower word.
    const std::uint64_t last = load_word(key.data() + key.size() - kWordBytes);
    return {load_word(key.data()), last >> 8 * (kBytesLooked - key.size())};
  }
  return {__builtin_bswap64(btree::word_of(key.data(), key.size())), 0};
}

std::uint64_t Shortcuts::word_of(const Looked& bytes, std::uint64_t places) noexcept {
#ifdef __SSSE3__
  const __m128i all =
      _mm_set_epi64x(static_cast<std::int64_t>(bytes.high), static_cast<std::int64_t>(bytes.low));
  const __m128i wanted = _mm_cvtsi64_si128(static_cast<std::int64_t>(places));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_shuffle_epi8(all, wanted)));
#else
  std::uint64_t word = 0;
  for (std::uint32_t shift = 0; shift < 64; shift += 8) {
    const std::uint64_t place = (places >> shift) & 0xFF;
    const std::uint64_t half = place < kWordBytes ? bytes.low : bytes.high;
    word |= place < kBytesLooked ? ((half >> 8 * (place % kWordBytes)) & 0xFF) << shift : 0;
  }
  return word;
#endif
}

Shortcuts::Guess Shortcuts::guess(ByteView key) const noexcept {
  const std::uint64_t sequence = sequence_.load(std::memory_order_acquire);
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  const Lists* const lists = lists_.load(std::memory_order_acquire);
  if (count == 0 || lists == nullptr) {
    return {};
  }
  const Looked bytes = look(key);
  const std::uint64_t word = word_of(bytes, places_.load(std::memory_order_relaxed));
  // Finds the last node with a word <= the key's; the first node's word does not count.
  const std::atomic<std::uint64_t>* at = lists->words.data();
  for (std::uint32_t rest = count; rest > 1;) {
    const std::uint32_t half = rest / 2;
    at += at[half].load(std::memory_order_relaxed) <= word ? half : 0;
    rest -= half;
  }
  const auto number = static_cast<std::size_t>(at - lists->words.data());
  const auto differs = [&](std::uint64_t half, std::size_t i) {
    return (half ^ constant_[i].load(std::memory_order_relaxed)) &
           is_constant_[i].load(std::memory_order_relaxed);
  };
  const bool is_between = at[0].load(std::memory_order_relaxed) < word &&
                          word < at[1].load(std::memory_order_relaxed) &&
                          (differs(bytes.low, 0) | differs(bytes.high, 1)) == 0;
  const Guess guess{.frame = lists->frames[number].load(std::memory_order_relaxed),
                    .is_proven = is_between,
                    .version = lists->versions[number].load(std::memory_order_relaxed)};
#ifndef PALIMPSEST_TSAN
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  if (sequence % 2 != 0 || sequence_.load(std::memory_order_acquire) != sequence) [[unlikely]] {
    return {};
  }
  return guess;
}

std::int64_t Shortcuts::now_ms() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

/// The first node does not count: its fence is mostly empty.
Shortcuts::Form Shortcuts::form_of(std::span<const Node> nodes) noexcept {
  const Looked first = look(nodes[1].fence());
  Looked differing;
  for (const Node& node : nodes.subspan(1)) {
    const Looked here = look(node.fence());
    differing.low |= here.low ^ first.low;
    differing.high |= here.high ^ first.high;
  }
  Form form{.constant = first};
  std::uint32_t shift = 64;
  for (std::uint64_t place = 0; place < kBytesLooked && shift > 0; ++place) {
    const bool is_low = place < kWordBytes;
    const std::uint64_t byte = std::uint64_t{0xFF} << 8 * (place % kWordBytes);
    if (((is_low ? differing.low : differing.high) & byte) != 0) {
      shift -= 8;
      form.places = (form.places & ~(std::uint64_t{0xFF} << shift)) | place << shift;
    } else {
      (is_low ? form.is_constant.low : form.is_constant.high) |= byte;
    }
  }
  return form;
}

void Shortcuts::set(std::span<const Node> nodes) noexcept {
  Lists* lists = lists_.load(std::memory_order_relaxed);
  const bool is_list = nodes.size() > 1 && nodes.size() <= kNodesMax;
  if (lists == nullptr && is_list) {
    try {
      lists = new Lists;
    } catch (const std::bad_alloc&) {
      lists = nullptr;  // then there is no list
    }
    lists_.store(lists, std::memory_order_release);
  }
  const std::uint64_t before = sequence_.load(std::memory_order_relaxed);
  sequence_.store(before + 1, std::memory_order_relaxed);
#ifndef PALIMPSEST_TSAN
  std::atomic_thread_fence(std::memory_order_release);
#endif
  count_.store(0, std::memory_order_relaxed);
  if (lists != nullptr && is_list) {
    write(nodes, *lists);
  }
  sequence_.store(before + 2, std::memory_order_release);
}

void Shortcuts::write(std::span<const Node> nodes, Lists& lists) noexcept {
  const Form form = form_of(nodes);
  std::size_t same = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint64_t word = i == 0 ? 0 : word_of(look(nodes[i].fence()), form.places);
    same += i > 1 && word <= before ? 1U : 0U;
    before = word;
    lists.words[i].store(word, std::memory_order_relaxed);
    lists.versions[i].store(nodes[i].version, std::memory_order_relaxed);
    lists.frames[i].store(nodes[i].frame, std::memory_order_relaxed);
  }
  lists.words[nodes.size()].store(kHighestWord, std::memory_order_relaxed);
  places_.store(form.places, std::memory_order_relaxed);
  constant_[0].store(form.constant.low, std::memory_order_relaxed);
  constant_[1].store(form.constant.high, std::memory_order_relaxed);
  is_constant_[0].store(form.is_constant.low, std::memory_order_relaxed);
  is_constant_[1].store(form.is_constant.high, std::memory_order_relaxed);
  if (same <= nodes.size() / 4) {
    count_.store(static_cast<std::uint32_t>(nodes.size()), std::memory_order_relaxed);
  }
}

}  // namespace palimpsest::btree
