#include "tools/load/dialect.h"

#include <algorithm>
#include <array>
#include <utility>

namespace palimpsest::load {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 4> kNames{
    {{"csv", Format::csv}, {"tsv", Format::tsv}, {"tbl", Format::tbl}, {"jsonl", Format::jsonl}}};

constexpr std::array<std::pair<std::string_view, Format>, 6> kEndings{{{".csv", Format::csv},
                                                                       {".tsv", Format::tsv},
                                                                       {".tab", Format::tsv},
                                                                       {".tbl", Format::tbl},
                                                                       {".jsonl", Format::jsonl},
                                                                       {".ndjson", Format::jsonl}}};

}  // namespace

std::string_view name_of(Format format) noexcept {
  for (const auto& [name, named] : kNames) {
    if (named == format) {
      return name;
    }
  }
  return "unknown";
}

std::optional<Format> format_of_name(std::string_view name) noexcept {
  for (const auto& [known, format] : kNames) {
    if (known == name) {
      return format;
    }
  }
  return std::nullopt;
}

Format format_of_path(std::string_view path) noexcept {
  for (const std::string_view compressed : {".gz", ".zst", ".zstd"}) {
    if (path.ends_with(compressed)) {
      path.remove_suffix(compressed.size());
      break;
    }
  }
  const auto* const found = std::ranges::find_if(
      kEndings, [&](const auto& ending) { return path.ends_with(ending.first); });
  return found == kEndings.end() ? Format::csv : found->second;
}

Dialect Dialect::of(Format format) {
  Dialect dialect{.format = format};
  if (format == Format::tsv) {
    dialect.delimiter = '\t';
    dialect.letter_escapes = true;
    dialect.null_rule = NullRule::escaped;
  } else if (format == Format::tbl) {
    dialect.delimiter = '|';
  }
  if (format != Format::csv) {
    dialect.quote.reset();
  }
  return dialect;
}

}  // namespace palimpsest::load
