// Keys of several trees in one order, as they are sorted: by tree, then by key.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::engine {

[[nodiscard]] inline std::string in_tree_order(TreeId tree, ByteView key) {
  const std::uint32_t ordered = __builtin_bswap32(raw(tree));
  std::string bytes(sizeof ordered, '\0');
  std::memcpy(bytes.data(), &ordered, sizeof ordered);
  bytes.append(key);
  return bytes;
}

[[nodiscard]] inline TreeId tree_in_order(ByteView bytes) noexcept {
  std::uint32_t ordered = 0;
  std::memcpy(&ordered, bytes.data(), sizeof ordered);
  return TreeId{__builtin_bswap32(ordered)};
}

[[nodiscard]] inline ByteView key_in_order(ByteView bytes) noexcept {
  return bytes.substr(sizeof(std::uint32_t));
}

}  // namespace palimpsest::engine
