// Where a row came from: what can be told of it when it is put into the table later than it was
// read.
//
// Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest::load {

struct RowOrigin {
  std::uint64_t file = 0;     ///< its number, from 0
  std::uint64_t line = 0;     ///< of its record's first byte, from 1
  std::uint64_t byte = 0;     ///< of that byte, from the file's beginning, from 0
  std::string_view record{};  ///< as it stands in the file; empty if not wanted

  /// As bytes, put behind those that are there.
  void encode(std::string& into) const;
  /// What encode() has made, whole. `record` is a view of it.
  [[nodiscard]] static RowOrigin decode(std::string_view bytes) noexcept;
};

}  // namespace palimpsest::load
