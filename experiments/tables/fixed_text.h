// A text of at most kCapacity bytes in place: the char and varchar columns of rows.
//
// Bytes after the end are zero, so that rows with equal columns have equal texts byte by byte.
// Thread-safety: a plain value.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/check.h"

namespace palimpsest::experiments {

template <std::size_t kCapacity>
class FixedText {
 public:
  static constexpr std::size_t kMaxBytes = kCapacity;

  FixedText() = default;
  /// `text` has at most kCapacity bytes.
  explicit FixedText(std::string_view text) noexcept { assign(text); }

  /// `text` has at most kCapacity bytes and is no part of this object.
  void assign(std::string_view text) noexcept {
    check(text.size() <= kCapacity, "a text longer than its column");
    text.copy(bytes_, kCapacity);
    std::memset(bytes_ + text.size(), 0, kCapacity - text.size());
    size_ = static_cast<Size>(text.size());
  }

  /// The text in `bytes`, kCapacity of them, without the zero bytes at their end.
  void assign_padded(const char* bytes) noexcept {
    std::memcpy(bytes_, bytes, kCapacity);
    std::size_t size = kCapacity;
    while (size != 0 && bytes_[size - 1] == '\0') {
      --size;
    }
    size_ = static_cast<Size>(size);
  }

  /// All kCapacity bytes: the text, and zero bytes after it.
  [[nodiscard]] std::string_view padded() const noexcept { return {bytes_, kCapacity}; }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  friend bool operator==(const FixedText& left, const FixedText& right) noexcept {
    return left.view() == right.view();
  }
  friend std::strong_ordering operator<=>(const FixedText& left, const FixedText& right) noexcept {
    return left.view() <=> right.view();
  }

 private:
  using Size = std::conditional_t<(kCapacity < 256), std::uint8_t, std::uint16_t>;
  static_assert(kCapacity < 65'536);

  Size size_ = 0;
  char bytes_[kCapacity] = {};
};

}  // namespace palimpsest::experiments
