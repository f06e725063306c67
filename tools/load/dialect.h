// How records are written in a file: which bytes end fields and records, and what NULL looks like.
//
//   csv    RFC 4180: fields between commas, in double quotes where needed, quotes doubled; with an
//          escape byte of its own, the byte behind it stands for itself, in quotes and outside
//   tsv    fields between tabs; \t \n \r \\ are those bytes, a field \N is NULL; no quotes
//   tbl    TPC's: fields between |, one more | at the end or none; no quotes, no escapes
//   jsonl  an object a line, its members named as the columns
//
// Records end with \n or \r\n; in csv not within quotes. The last one may lack its end.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/load/value_text.h"

namespace palimpsest::load {

enum class Format : std::uint8_t { csv = 1, tsv, tbl, jsonl };

[[nodiscard]] std::string_view name_of(Format format) noexcept;
/// Nothing if there is no format of that name.
[[nodiscard]] std::optional<Format> format_of_name(std::string_view name) noexcept;
/// By what a file is called: x.tsv, x.tab, x.tbl, x.jsonl, x.ndjson, also with .gz or .zst; else
/// csv.
[[nodiscard]] Format format_of_path(std::string_view path) noexcept;

/// Which fields are NULL. A field in quotes never is.
enum class NullRule : std::uint8_t {
  empty = 1,  ///< an empty one; in a text column that is never null it is an empty text
  text,       ///< one that is exactly Dialect::null_text, and no other
  escaped,    ///< \N; and an empty one in a nullable column of anything but text
};

struct Dialect {
  Format format = Format::csv;
  char delimiter = ',';             ///< not of jsonl
  std::optional<char> quote = '"';  ///< of csv
  std::optional<char> escape{};     ///< of csv: in place of doubled quotes
  bool letter_escapes = false;      ///< \t \n \r \\ of tsv
  std::string comment{};            ///< lines that begin with it are skipped, unless it is empty
  bool skip_blank = false;          ///< empty lines are skipped
  NullRule null_rule = NullRule::empty;
  std::string null_text{};
  BytesText bytes = BytesText::hex;

  [[nodiscard]] static Dialect of(Format format);
  /// Whether every \n ends a record.
  [[nodiscard]] bool newline_always_ends() const noexcept { return !quote && !escape; }
  /// Whether there may be lines that are no records.
  [[nodiscard]] bool skips_lines() const noexcept { return skip_blank || !comment.empty(); }
};

}  // namespace palimpsest::load
