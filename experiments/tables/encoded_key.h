// Keys as bytes whose order is that of the keys, for engines that know bytes only.
//
// One column after the other: numbers big-endian (signed ones with their sign bit flipped), texts
// filled up with zero bytes to their capacity, which keeps their order because names have no zero
// bytes. The bytes do not name the table: an engine has a tree for each table, or puts Key::kTable
// in front.
// Failure: decode_key() reports bytes that are not such a key. Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments {

namespace detail {

template <class Column>
struct ColumnCode {
  using Bits = std::make_unsigned_t<Column>;
  static constexpr std::size_t kBytes = sizeof(Column);
  static constexpr Bits kFlip =
      std::is_signed_v<Column> ? static_cast<Bits>(std::numeric_limits<Column>::min()) : Bits{0};

  static void put(char* into, Column column) noexcept {
    const Bits bits = static_cast<Bits>(column) ^ kFlip;
    for (std::size_t i = 0; i < kBytes; ++i) {
      into[i] = static_cast<char>(bits >> (8 * (kBytes - 1 - i)));
    }
  }
  static void take(const char* from, Column& column) noexcept {
    Bits bits = 0;
    for (std::size_t i = 0; i < kBytes; ++i) {
      bits = static_cast<Bits>(bits << 8U) | static_cast<unsigned char>(from[i]);
    }
    column = static_cast<Column>(bits ^ kFlip);
  }
};

template <std::size_t kCapacity>
struct ColumnCode<FixedText<kCapacity>> {
  static constexpr std::size_t kBytes = kCapacity;

  static void put(char* into, const FixedText<kCapacity>& column) noexcept {
    std::memcpy(into, column.padded().data(), kBytes);
  }
  static void take(const char* from, FixedText<kCapacity>& column) noexcept {
    column.assign_padded(from);
  }
};

template <class Column>
using CodeOf = ColumnCode<std::remove_cvref_t<Column>>;

template <class... Columns>
constexpr std::size_t sum_of_bytes(const std::tuple<Columns...>*) noexcept {
  return (CodeOf<Columns>::kBytes + ...);
}

template <class Key>
using ColumnsOf = decltype(Key::columns(std::declval<const Key&>()));

}  // namespace detail

/// How many bytes every encoded key of that table has.
template <class Key>
inline constexpr std::size_t kKeyBytesOf =
    detail::sum_of_bytes(static_cast<detail::ColumnsOf<Key>*>(nullptr));

/// An encoded key, ready to be viewed.
template <class Key>
class EncodedKey {
 public:
  explicit EncodedKey(const Key& key) noexcept {
    char* at = bytes_.data();
    const auto put = [&]<class Column>(const Column& column) {
      detail::CodeOf<Column>::put(at, column);
      at += detail::CodeOf<Column>::kBytes;
    };
    std::apply([&](const auto&... columns) { (put(columns), ...); }, Key::columns(key));
  }

  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kKeyBytesOf<Key>> bytes_;
};

/// The key with these bytes, if their number is right.
template <class Key>
[[nodiscard]] std::optional<Key> decode_key(ByteView bytes) noexcept {
  if (bytes.size() != kKeyBytesOf<Key>) {
    return std::nullopt;
  }
  Key key;
  const char* at = bytes.data();
  const auto take = [&]<class Column>(Column& column) {
    detail::CodeOf<Column>::take(at, column);
    at += detail::CodeOf<Column>::kBytes;
  };
  std::apply([&](auto&... columns) { (take(columns), ...); }, Key::columns(key));
  return key;
}

}  // namespace palimpsest::experiments
