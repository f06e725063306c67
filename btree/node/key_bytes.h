// Small arithmetic on key bytes: common prefixes, separators, heads, and a buffer for one key.
//
// Keys are byte strings in memcmp order. A *head* is the first four bytes of a key suffix as a
// big-endian number, padded with zeros, a *word* the first eight: comparing either as integers
// agrees with memcmp order except that they cannot tell "a" from "a\0", so that equal ones are
// always decided by the lengths and by what follows.
// Every function here tolerates bytes that change while it runs (the result is then meaningless),
// never throws. A buffer takes a block of its thread for keys that only pages of more than 4 KiB
// have (base/thread_blocks.h), and allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/thread_blocks.h"
#include "buffer/page_header.h"

namespace palimpsest::btree {

/// Longest user key, and longest fence or separator, of a page size. Keys have at least 1 byte.
[[nodiscard]] constexpr std::uint32_t key_bytes_max(std::uint32_t page_size) noexcept {
  return page_size / 8;
}

/// Largest key plus in-page value of a page size.
[[nodiscard]] constexpr std::uint32_t record_bytes_max(std::uint32_t page_size) noexcept {
  return page_size / 4;
}

/// Largest key plus stored bytes of a record that a bulk has changed: it holds the value twice,
/// current and previous (virtual_version.h).
[[nodiscard]] constexpr std::uint32_t stored_bytes_max(std::uint32_t page_size) noexcept {
  return 2 * record_bytes_max(page_size) + 2;
}

inline constexpr std::size_t kHeadBytes = 4;

/// Memory for one key of any page size, for use on the stack. Not initialised beyond its size. Keys
/// of the smallest pages, and what is next above them, lie in the buffer itself.
class KeyBuffer {
 public:
  KeyBuffer() noexcept {}  // NOLINT(modernize-use-equals-default): leaves bytes_ uninitialised
  explicit KeyBuffer(ByteView key) noexcept { assign(key); }
  KeyBuffer(const KeyBuffer& other) noexcept { assign(other.view()); }
  KeyBuffer& operator=(const KeyBuffer& other) noexcept {
    if (this != &other) {
      assign(other.view());
    }
    return *this;
  }

  /// Replaces the content; `key` may have at most capacity() bytes and may lie in this buffer.
  void assign(ByteView key) noexcept {
    check(key.size() <= capacity(), "a key fits a key buffer");
    char* const into = room(key.size());
    if (!key.empty()) {
      std::memmove(into, key.data(), key.size());
    }
    size_ = static_cast<std::uint32_t>(key.size());
  }

  /// Replaces the content by `first` followed by `second`, cut off at `bytes_max`, the longest key
  /// of the page: for bytes read optimistically, whose lengths may be torn. Neither may lie in this
  /// buffer.
  void assign_clamped(ByteView first, ByteView second,
                      std::size_t bytes_max = capacity()) noexcept {
    const std::size_t head = std::min(first.size(), bytes_max);
    const std::size_t tail = std::min(second.size(), bytes_max - head);
    char* const into = room(head + tail);
    if (head != 0) {
      std::memcpy(into, first.data(), head);
    }
    if (tail != 0) {
      std::memcpy(into + head, second.data(), tail);
    }
    size_ = static_cast<std::uint32_t>(head + tail);
  }

  [[nodiscard]] ByteView view() const noexcept {
    return {block_.has_memory() ? block_.chars() : bytes_.data(), size_};
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept {
    return key_bytes_max(buffer::kPageSizeMax);
  }

 private:
  /// Memory for so many bytes: where the content lies now, or a block that is empty.
  [[nodiscard]] char* room(std::size_t bytes) noexcept {
    if (bytes > bytes_.size() && !block_.has_memory()) [[unlikely]] {
      block_.take();
    }
    return block_.has_memory() ? block_.chars() : bytes_.data();
  }

  ThreadBlock block_;  ///< if it has memory, the key lies there
  std::uint32_t size_ = 0;
  std::array<char, key_bytes_max(buffer::kPageSizeMin) + 1> bytes_;
};
static_assert(key_bytes_max(buffer::kPageSizeMax) <= ThreadBlock::kBytes);

/// Number of leading bytes that are the same in both.
[[nodiscard]] inline std::uint32_t common_prefix_length(ByteView a, ByteView b) noexcept {
  const std::size_t limit = std::min(a.size(), b.size());
  std::size_t i = 0;
  for (; i + 8 <= limit; i += 8) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a.data() + i, 8);
    std::memcpy(&y, b.data() + i, 8);
    if (x != y) {
      return static_cast<std::uint32_t>(i) +
             static_cast<std::uint32_t>(std::countr_zero(x ^ y)) / 8;
    }
  }
  while (i < limit && a[i] == b[i]) {
    ++i;
  }
  return static_cast<std::uint32_t>(i);
}

/// Length of the shortest prefix s of `right` with left < s <= right, given left < right. Every
/// shortest separator of two keys is such a prefix (Bayer and Unterauer, TODS 1977).
[[nodiscard]] inline std::uint32_t separator_length(ByteView left, ByteView right) noexcept {
  return common_prefix_length(left, right) + 1;
}

/// The head of a suffix of `size` bytes.
[[nodiscard]] inline std::uint32_t head_of(const char* suffix, std::size_t size) noexcept {
  std::uint32_t head = 0;
  if (size >= kHeadBytes) [[likely]] {
    std::memcpy(&head, suffix, kHeadBytes);
    return __builtin_bswap32(head);
  }
  for (std::size_t i = 0; i < size; ++i) {
    head |= static_cast<std::uint32_t>(static_cast<unsigned char>(suffix[i])) << (24 - 8 * i);
  }
  return head;
}
[[nodiscard]] inline std::uint32_t head_of(ByteView suffix) noexcept {
  return head_of(suffix.data(), suffix.size());
}

inline constexpr std::size_t kWordBytes = 8;

/// The first eight bytes of `size` as a big-endian number, padded with zeros: a head twice as long.
[[nodiscard]] inline std::uint64_t word_of(const char* bytes, std::size_t size) noexcept {
  if (size >= kWordBytes) [[likely]] {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, kWordBytes);
    return __builtin_bswap64(word);
  }
  const std::uint64_t high = std::uint64_t{head_of(bytes, size)} << 32;
  if (size <= kHeadBytes) {
    return high;
  }
  // The last four bytes, without those that are in the upper half.
  const std::uint64_t last = head_of(bytes + size - kHeadBytes, kHeadBytes);
  return high | static_cast<std::uint32_t>(last << 8 * (kWordBytes - size));
}

/// The word of what is left of `key` after `skipped` bytes (at most all of them).
[[nodiscard]] inline std::uint64_t word_after(ByteView key, std::size_t skipped) noexcept {
  const std::size_t size = key.size() - skipped;
  if (size >= kWordBytes || key.size() < kWordBytes) {
    return word_of(key.data() + skipped, size);
  }
  // The key's last bytes end with the suffix: shifting drops the prefix and pads with zeros.
  const std::uint64_t last = word_of(key.data() + key.size() - kWordBytes, kWordBytes);
  return size == 0 ? 0 : last << 8 * (kWordBytes - size);
}

/// Order of `length` bytes, inlined because what is left to compare is mostly short.
[[nodiscard]] inline int compare_bytes(const char* a, const char* b, std::size_t length) noexcept {
  const auto order = [](auto x, auto y) { return x < y ? -1 : (x == y ? 0 : 1); };
  const auto word8 = [](const char* from) { return word_of(from, kWordBytes); };
  if (length < 8) {
    if (length < 4) {
      return order(head_of(a, length), head_of(b, length));
    }
    const int first = order(head_of(a, 4), head_of(b, 4));
    return first != 0 ? first : order(head_of(a + length - 4, 4), head_of(b + length - 4, 4));
  }
  for (std::size_t i = 0; i + 8 < length; i += 8) {
    if (const int words = order(word8(a + i), word8(b + i)); words != 0) {
      return words;
    }
  }
  return order(word8(a + length - 8), word8(b + length - 8));
}

/// The head of what is left of `key` after `skipped` bytes (at most all of them).
[[nodiscard]] inline std::uint32_t head_after(ByteView key, std::size_t skipped) noexcept {
  const std::size_t size = key.size() - skipped;
  if (size >= kHeadBytes || key.size() < kHeadBytes) {
    return head_of(key.data() + skipped, size);
  }
  // The key's last four bytes end with the suffix: shifting drops the prefix and pads with zeros.
  const std::uint64_t last = head_of(key.data() + key.size() - kHeadBytes, kHeadBytes);
  return static_cast<std::uint32_t>(last << 8 * (kHeadBytes - size));
}

/// Order of two suffixes whose words are equal: negative, 0 or positive. When one of them has no
/// byte beyond its word, the other equals it, padded with zeros, up to there: the shorter is the
/// smaller.
[[nodiscard]] inline int compare_after_word(ByteView a, ByteView b) noexcept {
  const std::size_t shorter = std::min(a.size(), b.size());
  if (shorter > kWordBytes) {
    const int order =
        compare_bytes(a.data() + kWordBytes, b.data() + kWordBytes, shorter - kWordBytes);
    if (order != 0) {
      return order;
    }
  }
  return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

/// Order of two suffixes: negative, 0 or positive.
[[nodiscard]] inline int compare_suffixes(ByteView a, ByteView b) noexcept {
  const std::uint64_t x = word_of(a.data(), a.size());
  const std::uint64_t y = word_of(b.data(), b.size());
  return x != y ? (x < y ? -1 : 1) : compare_after_word(a, b);
}

/// Whether two suffixes of `size` bytes whose heads are equal are the same.
[[nodiscard]] inline bool equal_after_head(const char* a, const char* b,
                                           std::size_t size) noexcept {
  if (size <= kHeadBytes) {
    return true;
  }
  if (size <= kWordBytes) {
    return head_of(a + size - kHeadBytes, kHeadBytes) == head_of(b + size - kHeadBytes, kHeadBytes);
  }
  return equal_bytes(a + kHeadBytes, b + kHeadBytes, size - kHeadBytes);
}

}  // namespace palimpsest::btree
