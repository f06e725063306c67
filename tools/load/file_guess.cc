#include "tools/load/file_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tools/load/fault.h"
#include "tools/load/record_reader.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::array kDelimiters{',', '\t', ';', '|'};
/// Of the sample, for finding delimiters: more would say nothing more.
constexpr std::size_t kLookedAtBytes = std::size_t{256} << 10U;
constexpr std::size_t kRecordsMax = 2000;
/// A delimiter that so many of ten records agree about may be meant.
constexpr std::size_t kAgreeingMin = 6;

bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// JSON

/// Whether an object begins, and ends, in the first line, or the line is longer than the sample.
bool is_object_a_line(std::string_view text) noexcept {
  const std::string_view line = text.substr(0, text.find('\n'));
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (in_string) {
      at += line[at] == '\\' ? 1U : 0U;
      in_string = at >= line.size() || line[at] != '"';
    } else if (line[at] == '"') {
      in_string = true;
    } else if (line[at] == '{' || line[at] == '[') {
      ++depth;
    } else if ((line[at] == '}' || line[at] == ']') && --depth == 0) {
      return is_blank(line.substr(at + 1));
    }
  }
  return line.size() == text.size() && depth != 0 && text.size() > kLookedAtBytes;
}

/// Nothing of a text that does not begin as JSON does.
std::optional<Format> json_format_of(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || (text[begin] != '{' && text[begin] != '[')) {
    return std::nullopt;
  }
  const std::size_t next = text.find_first_not_of(" \t\r\n", begin + 1);
  const char second = next == std::string_view::npos ? '\0' : text[next];
  if (text[begin] == '[') {
    return second == '{' || second == ']' ? std::optional(Format::json) : std::nullopt;
  }
  if (second != '"' && second != '}') {
    return std::nullopt;
  }
  return is_object_a_line(text.substr(begin)) ? Format::jsonl : Format::json;
}

// Delimited text

/// How a dialect reads the sample.
struct Reading {
  Dialect dialect{};
  std::vector<std::size_t> counts{};  ///< of the fields of each record
  std::size_t usual = 0;              ///< of most records behind the first
  std::size_t agreeing = 0;           ///< records that have as many
  std::size_t faults = 0;
  std::size_t empty_ends = 0;  ///< records whose last field is empty

  [[nodiscard]] bool is_consistent() const noexcept {
    return usual > 1 && (agreeing + faults) * 10 >= counts.size() * kAgreeingMin &&
           faults * 2 <= counts.size();
  }
  /// Better than another one: more records agree, and then there are more fields.
  [[nodiscard]] bool is_better(const Reading& than) const noexcept {
    const std::size_t mine = (agreeing - std::min(agreeing, faults)) * (than.counts.size() + 1);
    const std::size_t its =
        (than.agreeing - std::min(than.agreeing, than.faults)) * (counts.size() + 1);
    return mine != its ? mine > its : usual > than.usual;
  }
};

bool is_skipped(const RawRecord& record) noexcept {
  return record.fields.size() == 1 && !record.fields[0].quoted && is_blank(record.fields[0].text);
}

Reading read(const FileSample& sample, const Dialect& dialect) {
  Reading reading{.dialect = dialect};
  const std::string_view text = sample.text.substr(0, kLookedAtBytes);
  const bool is_whole = sample.is_whole && text.size() == sample.text.size();
  RecordReader records(dialect, text, is_whole, RecordReader::Reads::fields);
  RawRecord record;
  std::map<std::size_t, std::size_t> times;
  while (reading.counts.size() < kRecordsMax && records.next(record)) {
    if (is_skipped(record)) {
      continue;
    }
    reading.faults += record.fault ? 1U : 0U;
    const std::size_t count = record.fault ? 0 : record.fields.size();
    reading.empty_ends += count > 1 && record.fields.back().text.empty() ? 1U : 0U;
    reading.counts.push_back(count);
    times[count] += count == 0 ? 0 : 1;
  }
  for (const auto& [count, number] : times) {
    const bool is_more =
        number > reading.agreeing || (number == reading.agreeing && count > reading.usual);
    if (count != 0 && is_more) {
      reading.usual = count;
      reading.agreeing = number;
    }
  }
  return reading;
}

/// Whether the reading gives the columns that the table has, if that is known.
bool fits(const Reading& reading, const FileSample& sample) noexcept {
  return !sample.columns || reading.usual == *sample.columns;
}

class FileGuesser {
 public:
  FileGuesser(const FileSample& sample, const Dialect& told, const ToldDialect& is_told)
      : sample_(sample), told_(told), is_told_(is_told) {
    guess_.dialect = told;
  }

  FileGuess guess() {
    require_text();
    const std::string_view text = behind_comments();
    if (!is_told_.format && !is_told_.delimiter && !is_told_.quote) {
      if (const auto json = json_format_of(text)) {
        set_json(*json);
        return std::move(guess_);
      }
    }
    if (told_.is_json()) {
      if (!is_told_.format && !is_blank(text)) {
        throw UsageError(
            fmt::format("{}: it is called JSON, and does not begin as such: --format "
                        "says what it is",
                        sample_.path));
      }
      return std::move(guess_);
    }
    find_line_end();
    find_dialect();
    judge_first_records();
    return std::move(guess_);
  }

 private:
  /// UTF-16 without a mark: every other byte is zero.
  void require_text() const {
    const std::string_view text = sample_.text.substr(0, 64);
    constexpr std::size_t kBytesMin = 8;
    if (text.size() < kBytesMin) {
      return;
    }
    std::array<std::size_t, 2> zeros{};
    for (std::size_t at = 0; at < text.size(); ++at) {
      zeros[at % 2] += text[at] == '\0' ? 1U : 0U;
    }
    for (const std::size_t odd : {0U, 1U}) {
      constexpr std::size_t kMostly = 8;
      if (zeros[odd] * 4 >= text.size() && zeros[1 - odd] * kMostly <= zeros[odd]) {
        throw UsageError(fmt::format("{}: every other byte is zero: --encoding utf-16{} reads it",
                                     sample_.path, odd == 1 ? "le" : "be"));
      }
    }
  }

  /// The sample without the lines at its beginning that are skipped.
  [[nodiscard]] std::string_view behind_comments() const noexcept {
    std::string_view text = sample_.text;
    for (;;) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      const bool is_comment = !told_.comment.empty() && line.starts_with(told_.comment);
      if (text.empty() || (!is_comment && !is_blank(line))) {
        return text;
      }
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
  }

  void set_json(Format format) {
    Dialect dialect = Dialect::of(format);
    dialect.comment = told_.comment;
    dialect.skip_blank = told_.skip_blank;
    dialect.bytes = told_.bytes;
    dialect.values = told_.values;
    dialect.keep_nested = told_.keep_nested;
    dialect.ignore_unknown = told_.ignore_unknown;
    dialect.checks_utf8 = told_.checks_utf8;
    guess_.dialect = dialect;
  }

  void find_line_end() {
    const bool has_newline = sample_.text.find('\n') != std::string_view::npos;
    if (!has_newline && sample_.text.find('\r') != std::string_view::npos) {
      guess_.dialect.line_end = '\r';
      guess_.notes.emplace_back("lines end with a carriage return alone");
    }
  }

  void find_dialect() {
    if (is_told_.format || is_told_.delimiter) {
      return;
    }
    if (told_.format == Format::tsv) {
      find_tabs();
    } else if (told_.format == Format::csv) {
      find_delimiter();
    }
  }

  void find_delimiter() {
    Reading best = read(sample_, guess_.dialect);
    for (const char delimiter : kDelimiters) {
      Dialect dialect = guess_.dialect;
      dialect.delimiter = delimiter;
      const Reading reading = read(sample_, dialect);
      if (delimiter != told_.delimiter && reading.is_consistent() && fits(reading, sample_) &&
          (!best.is_consistent() || reading.is_better(best))) {
        best = reading;
      }
    }
    if (!best.is_consistent()) {
      find_blanks(best);
    }
    guess_.dialect.delimiter = best.dialect.delimiter;
  }

  /// Words have blanks between them, too: all records must have as many.
  void find_blanks(Reading& best) const {
    constexpr std::size_t kFieldsMin = 3;
    Dialect dialect = guess_.dialect;
    dialect.delimiter = ' ';
    const Reading reading = read(sample_, dialect);
    const bool all_agree = reading.agreeing == reading.counts.size() && reading.faults == 0;
    if (all_agree && reading.usual >= kFieldsMin && reading.counts.size() >= kFieldsMin &&
        fits(reading, sample_)) {
      best = reading;
    }
  }

  /// Text between tabs is written in three ways: with escapes, as dump writes it; in quotes; and as
  /// it is.
  void find_tabs() {
    Dialect plain = as_csv(false);
    const Reading as_it_is = read(sample_, plain);
    const Escapes escapes = count_escapes(plain);
    if (escapes.invalid != 0) {
      take_tabs(escapes.in_quotes != 0 && reads_quotes());
      return;
    }
    if (escapes.surely != 0) {
      return;
    }
    if (escapes.valid != 0) {
      refuse_tabs("a backslash before one of t, n, r", escapes.first);
    }
    if (escapes.in_quotes == 0) {
      guess_.dialect.no_escapes_seen = !sample_.is_whole;
      return;
    }
    const Reading quoted = read(sample_, as_csv(true));
    const bool quotes_matter =
        quoted.counts != as_it_is.counts || escapes.doubled_quotes != 0 || escapes.header_in_quotes;
    if (quoted.faults != 0) {
      take_tabs(false);
    } else if (quotes_matter) {
      take_tabs(true);
    } else {
      refuse_tabs("a field in quotes", escapes.first_quoted);
    }
  }

  struct Escapes {
    std::size_t invalid = 0;  ///< backslashes that escape nothing
    std::size_t surely = 0;   ///< \N alone, and doubled ones
    std::size_t valid = 0;
    std::size_t in_quotes = 0;  ///< fields
    std::size_t doubled_quotes = 0;
    bool header_in_quotes = false;
    std::uint64_t first = 0;  ///< the line of the first backslash
    std::uint64_t first_quoted = 0;
  };

  Escapes count_escapes(const Dialect& plain) const {
    Escapes escapes;
    RecordReader records(plain, sample_.text, sample_.is_whole, RecordReader::Reads::fields);
    RawRecord record;
    for (std::uint64_t line = 1; records.next(record); ++line) {
      bool all_quoted = true;
      for (const RawField& field : record.fields) {
        const bool is_quoted = field.text.size() > 1 && field.text.starts_with('"');
        all_quoted = all_quoted && is_quoted;
        if (is_quoted) {
          escapes.first_quoted = escapes.in_quotes++ == 0 ? line : escapes.first_quoted;
          escapes.doubled_quotes +=
              field.text.size() > 2 && field.text.substr(1).find("\"\"") < field.text.size() - 2;
        }
        count_in(field.text, line, escapes);
      }
      escapes.header_in_quotes = escapes.header_in_quotes || (line == 1 && all_quoted);
    }
    return escapes;
  }

  static void count_in(std::string_view text, std::uint64_t line, Escapes& escapes) {
    if (text == "\\N") {
      ++escapes.surely;
      return;
    }
    for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at + 2)) {
      const char next = at + 1 < text.size() ? text[at + 1] : '\0';
      escapes.first = escapes.first == 0 ? line : escapes.first;
      if (next == '\\') {
        ++escapes.surely;
      } else if (next == 't' || next == 'n' || next == 'r') {
        ++escapes.valid;
      } else {
        ++escapes.invalid;
      }
    }
  }

  [[nodiscard]] bool reads_quotes() const { return read(sample_, as_csv(true)).faults == 0; }

  [[nodiscard]] Dialect as_csv(bool has_quotes) const {
    Dialect dialect = guess_.dialect;
    dialect.format = Format::csv;
    dialect.delimiter = '\t';
    dialect.letter_escapes = false;
    dialect.quote = has_quotes ? std::optional('"') : std::nullopt;
    if (dialect.null_rule == NullRule::escaped) {
      dialect.null_rule = NullRule::empty;
    }
    return dialect;
  }

  void take_tabs(bool has_quotes) { guess_.dialect = as_csv(has_quotes); }

  [[noreturn]] void refuse_tabs(std::string_view what, std::uint64_t line) const {
    throw UsageError(fmt::format(
        "{}:{}: {}: --format tsv reads \\t \\n \\r \\\\ as single bytes and quotes as they are, "
        "--format csv --delimiter tab reads quotes and backslashes as they are, and with --quote "
        "none both as they are",
        sample_.path, line, what));
  }

  /// The first record names the columns, mostly: what others have more or less of is looked at.
  void judge_first_records() {
    Reading reading = read(sample_, guess_.dialect);
    if (is_told_.header || reading.counts.size() < 2 || reading.usual < 2 ||
        guess_.dialect.format == Format::tbl) {
      return;
    }
    const std::size_t first = reading.counts[0];
    const std::size_t behind = reading.counts.size() - 1;
    const auto with_more = static_cast<std::size_t>(
        std::count(reading.counts.begin() + 1, reading.counts.end(), first + 1));
    if (with_more == behind && reading.empty_ends >= behind) {
      guess_.dialect.drops_empty_end = true;
      guess_.notes.emplace_back("a delimiter stands behind the last field of each record");
    } else if (with_more == behind && first > 0 && !looks_like_title()) {
      guess_.unnamed_first = true;
      guess_.notes.emplace_back(
          "records have one field more than the header: the first has no name");
    } else if (first < reading.usual) {
      refuse_title(reading);
    }
  }

  /// One field above two: a title, or the name of the second of them.
  [[nodiscard]] bool looks_like_title() const {
    RecordReader records(guess_.dialect, sample_.text, sample_.is_whole,
                         RecordReader::Reads::fields);
    RawRecord record;
    return records.next(record) && record.fields.size() == 1 && !record.fields[0].quoted &&
           record.fields[0].text.find(' ') != std::string_view::npos;
  }

  /// The first records have fewer fields, and all behind them as many as each other.
  void refuse_title(const Reading& reading) const {
    const auto begin = std::ranges::find(reading.counts, reading.usual);
    const auto like_it = std::count(begin, reading.counts.end(), reading.usual);
    if (like_it * 10 < (reading.counts.end() - begin) * 9) {
      return;  // records are of any length: the load tells
    }
    const auto lines = line_of(static_cast<std::size_t>(begin - reading.counts.begin()));
    const std::string_view first = sample_.text.substr(0, sample_.text.find('\n'));
    const std::string advice =
        first.starts_with('#') ? "--comment '#' skips lines that begin so, " : std::string();
    throw UsageError(fmt::format(
        "{}:1: {} field{} in {}, {} in the records from line {} on: {}--skip {} leaves out what "
        "stands above them, --header or --header=off takes all as records",
        sample_.path, reading.counts[0], reading.counts[0] == 1 ? "" : "s",
        in_quotes(first.substr(0, first.find('\r'))), reading.usual, lines, advice, lines - 1));
  }

  /// Of a record, by its number among those that are not blank.
  [[nodiscard]] std::uint64_t line_of(std::size_t number) const {
    RecordReader records(guess_.dialect, sample_.text, sample_.is_whole,
                         RecordReader::Reads::fields);
    RawRecord record;
    for (std::size_t passed = 0; records.next(record);) {
      if (!is_skipped(record) && passed++ == number) {
        return record.lines_before + 1;
      }
    }
    return 1;
  }

  const FileSample& sample_;
  const Dialect& told_;
  const ToldDialect& is_told_;
  FileGuess guess_{};
};

}  // namespace

FileGuess guess_file(const FileSample& sample, const Dialect& told, const ToldDialect& is_told) {
  return FileGuesser(sample, told, is_told).guess();
}

}  // namespace palimpsest::load
