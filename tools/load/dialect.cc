#include "tools/load/dialect.h"

#include <algorithm>
#include <array>
#include <utility>

namespace palimpsest::load {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 5> kNames{{{"csv", Format::csv},
                                                                     {"tsv", Format::tsv},
                                                                     {"tbl", Format::tbl},
                                                                     {"jsonl", Format::jsonl},
                                                                     {"json", Format::json}}};

constexpr std::array<std::pair<std::string_view, Format>, 8> kEndings{
    {{".csv", Format::csv},
     {".tsv", Format::tsv},
     {".tab", Format::tsv},
     {".tbl", Format::tbl},
     {".jsonl", Format::jsonl},
     {".jsonlines", Format::jsonl},
     {".ndjson", Format::jsonl},
     {".json", Format::json}}};

std::string lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return lower;
}

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

std::optional<Format> format_of_path(std::string_view path) {
  std::string name = lower(path);
  for (const std::string_view compressed : {".gz", ".zst", ".zstd", ".xz", ".bz2", ".zip"}) {
    if (name.ends_with(compressed)) {
      name.resize(name.size() - compressed.size());
      break;
    }
  }
  const auto* const found = std::ranges::find_if(
      kEndings, [&](const auto& ending) { return name.ends_with(ending.first); });
  return found == kEndings.end() ? std::nullopt : std::optional(found->second);
}

bool Dialect::is_null_text(std::string_view field) const noexcept {
  return field == null_text || std::ranges::find(more_null_texts, field) != more_null_texts.end();
}

Dialect Dialect::of(Format format) {
  Dialect dialect{.format = format};
  if (format == Format::tsv) {
    dialect.delimiter = '\t';
    dialect.letter_escapes = true;
    dialect.null_rule = NullRule::escaped;
  } else if (format == Format::tbl) {
    dialect.delimiter = '|';
    dialect.drops_empty_end = true;
  } else if (format == Format::json) {
    dialect.line_end = kObjectEnd;
  }
  if (format != Format::csv) {
    dialect.quote.reset();
  }
  return dialect;
}

}  // namespace palimpsest::load
