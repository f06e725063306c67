#include "tools/load/header_guess.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace palimpsest::load {
namespace {

constexpr std::size_t kNameBytesUsual = 60;

/// What people write for a value that is missing: no name of a column.
constexpr std::array<std::string_view, 12> kMissingWords{
    "na", "n/a", "nan", "null", "none", "nil", "-", "?", ".", "missing", "unknown", "\\n"};
/// What columns are called, mostly.
constexpr std::array<std::string_view, 24> kUsualNames{
    "id",   "name",  "code", "date",  "year",    "type", "key",    "value",
    "city", "state", "time", "title", "country", "text", "status", "description",
    "url",  "email", "lat",  "lon",   "count",   "day",  "month",  "index"};

bool is_letter(char byte) noexcept {
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'z';
}

std::string lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
  });
  return lower;
}

template <class Words>
bool is_one_of(std::string_view text, const Words& words) {
  return std::ranges::find(words, lower(text)) != words.end();
}

/// first_name, firstName, or a word that columns are called by.
bool is_surely_a_name(std::string_view text) {
  if (is_one_of(text, kUsualNames)) {
    return true;
  }
  bool has_join = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_letter(byte) && byte != '_' && byte != '.' && !(is_digit && at != 0)) {
      return false;
    }
    const bool is_hump = at != 0 && byte >= 'A' && byte <= 'Z' && text[at - 1] >= 'a';
    has_join = has_join || byte == '_' || is_hump;
  }
  return has_join;
}

/// Whether it may be a name: a few words that begin with a letter.
bool may_be_name(std::string_view text) noexcept {
  const auto first =
      std::ranges::find_if(text, [](char byte) { return byte != ' ' && byte != '#'; });
  return !text.empty() && text.size() <= kNameBytesUsual && first != text.end() &&
         (is_letter(*first) || static_cast<unsigned char>(*first) >= 0x80 || *first == '_');
}

std::optional<std::int64_t> number_of(std::string_view text) noexcept {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

/// Three numbers or more that rise by the same step: the years of a table's columns, mostly.
bool is_series(const std::vector<std::int64_t>& numbers) noexcept {
  if (numbers.size() < 3 || numbers[1] <= numbers[0]) {
    return false;
  }
  for (std::size_t i = 2; i < numbers.size(); ++i) {
    if (numbers[i] - numbers[i - 1] != numbers[1] - numbers[0]) {
      return false;
    }
  }
  return true;
}

/// What the columns that are not text say.
struct TypedEvidence {
  std::size_t words = 0;  ///< of the first record, above values
  std::size_t values = 0;
  std::vector<std::int64_t> numbers{};  ///< of these
};

TypedEvidence typed_evidence(std::span<const std::string> first,
                             std::span<const ColumnGuess> columns) {
  TypedEvidence evidence;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!columns[i].is_typed() || first[i].empty()) {
      continue;
    }
    if (columns[i].fits(first[i])) {
      ++evidence.values;
      if (const auto number = number_of(first[i])) {
        evidence.numbers.push_back(*number);
      }
    } else if (!is_one_of(first[i], kMissingWords) && may_be_name(first[i])) {
      ++evidence.words;
    }
  }
  return evidence;
}

HeaderVerdict judge_texts(std::span<const std::string> first,
                          std::span<const ColumnGuess> columns) {
  const std::set<std::string_view> names(first.begin(), first.end());
  const bool recurs =
      std::ranges::any_of(columns, [](const ColumnGuess& column) { return column.has_watched(); });
  if (recurs) {
    return HeaderVerdict::record;
  }
  constexpr std::size_t kRecurringMin = 5;
  bool is_sure = false;
  std::size_t nameless = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    nameless += first[i].empty() ? 1U : 0U;
    if (!first[i].empty() && !may_be_name(first[i])) {
      return HeaderVerdict::unknown;
    }
    is_sure = is_sure || is_surely_a_name(first[i]) ||
              (columns[i].has_twins() && columns[i].seen() >= kRecurringMin);
  }
  if (names.size() != first.size() || nameless > 1) {
    return is_sure && nameless <= 1 ? HeaderVerdict::header : HeaderVerdict::unknown;
  }
  return is_sure || first.size() > 1 ? HeaderVerdict::header : HeaderVerdict::unknown;
}

/// The names of rows are in a first column without a name.
bool names_rows(std::span<const std::string> first, std::span<const ColumnGuess> columns) {
  const std::set<std::string_view> names(first.begin(), first.end());
  return first.size() > 1 && first[0].empty() && names.size() == first.size() &&
         columns[0].seen() != 0 && !columns[0].has_null();
}

}  // namespace

HeaderVerdict judge_header(std::span<const std::string> first,
                           std::span<const ColumnGuess> columns) {
  if (names_rows(first, columns)) {
    return HeaderVerdict::header;
  }
  const TypedEvidence typed = typed_evidence(first, columns);
  if (typed.words != 0) {
    return typed.values <= typed.words || is_series(typed.numbers) ? HeaderVerdict::header
                                                                   : HeaderVerdict::unknown;
  }
  if (typed.values != 0) {
    return is_series(typed.numbers) ? HeaderVerdict::unknown : HeaderVerdict::record;
  }
  const bool has_typed =
      std::ranges::any_of(columns, [](const ColumnGuess& column) { return column.is_typed(); });
  if (has_typed) {  // above them there is nothing, or a word for that
    return HeaderVerdict::unknown;
  }
  return judge_texts(first, columns);
}

}  // namespace palimpsest::load
