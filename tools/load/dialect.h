// How records are written in a file: which bytes end fields and records, and what NULL looks like.
//
//   csv    RFC 4180: fields between commas, in double quotes where needed, quotes doubled; with an
//          escape byte of its own, the byte behind it stands for itself, in quotes and outside
//   tsv    fields between tabs; \t \n \r \\ are those bytes, a field \N is NULL; no quotes
//   tbl    TPC's: fields between |, one more | at the end or none; no quotes, no escapes
//   jsonl  an object a line, its members named as the columns
//   json   objects, or an array of them, over any number of lines (json_source.h)
//
// Records end with \n or \r\n, or with \r if `line_end` says so; in csv not within quotes. The last
// one may lack its end.
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/value_rules.h"

namespace palimpsest::load {

enum class Format : std::uint8_t { csv = 1, tsv, tbl, jsonl, json };

[[nodiscard]] std::string_view name_of(Format format) noexcept;
/// Nothing if there is no format of that name.
[[nodiscard]] std::optional<Format> format_of_name(std::string_view name) noexcept;
/// By what a file is called, in any case: x.csv, x.tsv, x.tab, x.tbl, x.jsonl, x.jsonlines,
/// x.ndjson, x.json, also with .gz, .zst, .xz, .bz2, .zip; nothing if the name says nothing.
[[nodiscard]] std::optional<Format> format_of_path(std::string_view path);

/// Ends an object where objects stand on any number of lines (json_source.h): no text has it.
inline constexpr char kObjectEnd = '\x1E';

/// Which fields are NULL. A field in quotes never is.
enum class NullRule : std::uint8_t {
  empty = 1,  ///< an empty one; in a text column that is never null it is an empty text
  text,       ///< one that is exactly Dialect::null_text or one of more_null_texts
  escaped,    ///< \N; and an empty one in a nullable column of anything but text
};

struct Dialect {
  Format format = Format::csv;
  char delimiter = ',';             ///< not of jsonl; of several bytes: the first
  std::string delimiter_rest{};     ///< the bytes behind that one
  std::optional<char> quote = '"';  ///< of csv
  std::optional<char> escape{};     ///< of csv: in place of doubled quotes
  bool letter_escapes = false;      ///< \t \n \r \\ of tsv
  std::string comment{};            ///< lines that begin with it are skipped, unless it is empty
  bool skip_blank = false;          ///< empty lines are skipped
  /// Where a record has several fields, lines of nothing but blanks are skipped.
  bool blank_is_nothing = false;
  bool trim = false;             ///< blanks around fields, and before quotes, do not count
  bool fill_missing = false;     ///< fields that are missing at the end of a record are null
  bool drops_empty_end = false;  ///< a delimiter may stand behind the last field
  char line_end = '\n';
  NullRule null_rule = NullRule::empty;
  std::string null_text{};
  std::vector<std::string> more_null_texts{};
  BytesText bytes = BytesText::hex;
  ValueRules values{};
  bool keep_nested = false;     ///< of jsonl: a text column takes any value, as JSON
  bool ignore_unknown = false;  ///< what the table has no column for is left out
  bool checks_utf8 = true;      ///< texts that are no UTF-8 are refused
  /// The columns were chosen by records that had no backslashes and quotes: they are refused.
  bool no_escapes_seen = false;

  [[nodiscard]] static Dialect of(Format format);
  [[nodiscard]] bool is_json() const noexcept {
    return format == Format::jsonl || format == Format::json;
  }
  /// The whole delimiter.
  [[nodiscard]] std::string delimiter_text() const { return delimiter + delimiter_rest; }
  /// Whether a field is one of the texts that are null.
  [[nodiscard]] bool is_null_text(std::string_view field) const noexcept;
  /// Whether every line end ends a record.
  [[nodiscard]] bool newline_always_ends() const noexcept { return !quote && !escape; }
  /// Whether there may be lines that are no records.
  [[nodiscard]] bool skips_lines() const noexcept { return skip_blank || !comment.empty(); }
};

}  // namespace palimpsest::load
