// Rows of lineitem as keys and values of bytes, for engines that know bytes only.
//
//   key    l_orderkey, l_linenumber: 8 and 4 bytes, big-endian, so that their order is that of
//   bytes
//   value  the other columns in their order, little-endian: integers and dates in 4 bytes, decimals
//          as cents in 8, texts with their length in front, in 1
//
// So a row takes only the bytes that its fields need, as it does in Palimpsest.
// Thread-safety: belongs to one thread. Failure: DamagedRecord for invalid bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "palimpsest/value.h"

#include "experiments/common/bytes.h"
#include "experiments/files/content.h"

namespace palimpsest::experiments::files {

/// A line as it is stored; reused for the next one.
class StoredLine {
 public:
  /// A row by the values of all its columns.
  void set(std::span<const Value> row);

  [[nodiscard]] ByteView key() const noexcept { return key_; }
  [[nodiscard]] ByteView value() const noexcept { return value_; }

 private:
  std::string key_;
  std::string value_;
};

/// Adds a stored line, or a row that will be stored.
void see(Content& content, ByteView key, ByteView value);
void see(Content& content, std::span<const Value> row);

}  // namespace palimpsest::experiments::files
