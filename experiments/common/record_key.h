// The key of record i in every benchmark: i as 8 bytes big-endian, so that key order is number
// order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "base/bytes.h"

namespace palimpsest::experiments {

inline constexpr std::size_t kKeyBytes = 8;

/// A stored value contradicts its key, or a record is missing: the run is void.
class DamagedRecord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The key of a record, ready to be viewed.
class RecordKey {
 public:
  explicit RecordKey(std::uint64_t record) noexcept {
    const std::uint64_t big_endian = __builtin_bswap64(record);
    std::memcpy(bytes_, &big_endian, kKeyBytes);
  }
  [[nodiscard]] ByteView view() const noexcept { return {bytes_, kKeyBytes}; }

 private:
  static_assert(std::endian::native == std::endian::little);
  char bytes_[kKeyBytes];
};

/// The record number of a key of kKeyBytes.
[[nodiscard]] inline std::uint64_t record_of(ByteView key) noexcept {
  std::uint64_t big_endian = 0;
  std::memcpy(&big_endian, key.data(), kKeyBytes);
  return __builtin_bswap64(big_endian);
}

}  // namespace palimpsest::experiments
