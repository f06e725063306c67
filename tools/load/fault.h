// What is wrong with a record of the input, and where: one kind for each way to be wrong.
//
// Thread-safety: plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace palimpsest::load {

enum class FaultKind : std::uint8_t {
  parse = 1,  ///< the record is none: quotes, braces, the number of fields
  type,       ///< the text is no value of the column's type
  null,       ///< no value, and the column is never null
  range,      ///< a value of the type's kind that the column, or a row, cannot hold
  duplicate,  ///< a row with that key, or these values in a unique index, is there
};

inline constexpr std::array kFaultKinds{FaultKind::parse, FaultKind::type, FaultKind::null,
                                        FaultKind::range, FaultKind::duplicate};

/// "parse", "type", "null", "range", "duplicate".
[[nodiscard]] std::string_view name_of(FaultKind kind) noexcept;

/// Where something stands in a file, as people and editors count.
struct Position {
  std::string file{};
  std::uint64_t line = 0;    ///< from 1
  std::uint64_t column = 0;  ///< bytes from the line's beginning, from 1
  std::uint64_t byte = 0;    ///< from the file's beginning, decompressed, from 0
};

struct Fault {
  FaultKind kind{};
  Position at{};
  std::string column{};  ///< the table's columns it is about, with commas; may be empty
  std::string reason{};
  std::string shown{};      ///< what was there, as a message shows it; may be empty
  bool is_unknown = false;  ///< it names a column that the table has not

  /// file:line:column (byte N), column "x": kind error: reason: what was there
  [[nodiscard]] std::string text() const;
};

/// Between quotes, for one line of a terminal: control characters, and bytes that are no UTF-8, as
/// \xNN; the end of a long text is left out.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Whether all of it is UTF-8: no overlong forms, no surrogates.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace palimpsest::load
