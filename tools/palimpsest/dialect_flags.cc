#include "tools/palimpsest/dialect_flags.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "tools/load/decoded_source.h"
#include "tools/load/usage_error.h"

namespace palimpsest::tools {
namespace {

using load::Format;
using load::UsageError;

constexpr std::string_view kNone = "none";

std::optional<int> hex_digit(char byte) noexcept {
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? std::optional(lower - 'a' + 10) : std::nullopt;
}

/// Bytes, which users may write as "tab", "\t" or "\x01".
std::string bytes_of(std::string_view option, std::string_view text) {
  if (text == "tab" || text == "\\t") {
    return "\t";
  }
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_hex = text.substr(at).starts_with("\\x") && at + 3 < text.size();
    const auto high = is_hex ? hex_digit(text[at + 2]) : std::nullopt;
    const auto low = is_hex ? hex_digit(text[at + 3]) : std::nullopt;
    if (high && low) {
      bytes += static_cast<char>(static_cast<unsigned char>(*high * 16 + *low));
      at += 3;
    } else {
      bytes += text[at];
    }
  }
  if (bytes.find_first_of("\r\n") != std::string::npos) {
    throw UsageError(fmt::format("{} is no line end: not \"{}\"", option, text));
  }
  return bytes;
}

char byte_of(std::string_view option, std::string_view text) {
  const std::string bytes = bytes_of(option, text);
  if (bytes.size() != 1) {
    throw UsageError(fmt::format("{} is one byte, and no line end: not \"{}\"", option, text));
  }
  return bytes[0];
}

void require_apart(const load::Dialect& dialect) {
  const char quote = dialect.quote.value_or('\n');
  const char escape = dialect.escape.value_or('\n');
  const std::string delimiter = dialect.delimiter_text();
  const bool has_quote = delimiter.find(quote) != std::string::npos;
  if (has_quote || delimiter.find(escape) != std::string::npos ||
      (quote == escape && quote != '\n')) {
    throw UsageError("delimiter, quote and escape are different bytes");
  }
  if (dialect.null_rule != load::NullRule::text) {
    return;
  }
  std::vector<std::string> nulls = dialect.more_null_texts;
  nulls.push_back(dialect.null_text);
  for (const std::string& text : nulls) {
    const bool has_special =
        text.find_first_of(std::string{'\n', '\r', quote, escape}) != std::string::npos ||
        text.find(delimiter) != std::string::npos;
    if (has_special) {
      throw UsageError("--null has no delimiter, quote, escape or line end in it");
    }
  }
}

}  // namespace

void DialectFlags::add_to(CLI::App& command) {
  command
      .add_option(
          "--format", format,
          "csv, tsv, tbl (TPC's), jsonl (an object a line) or json (objects, or an array of\n"
          "them); by the file's name and, of load, its beginning, if not given")
      ->check(CLI::IsMember({"csv", "tsv", "tbl", "jsonl", "json"}));
  command.add_option(
      "--delimiter", delimiter,
      "between fields of csv or tbl: some bytes, \"tab\", or as \\x01 (default: , or |)");
  command.add_option("--quote", quote, "around fields of csv: one byte, or none (default: \")");
  command.add_option("--escape", escape,
                     "csv: one byte; the byte behind it stands for itself, and quotes are not\n"
                     "doubled");
  command
      .add_option("--null", CLI::callback_t([this](const CLI::results_t& results) {
                    null_texts = results;
                    return true;
                  }),
                  "a field of exactly this text, without quotes, is null, and an empty one is\n"
                  "not; may be given more than once (default: an empty field is null; in tsv \\N)")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--bytes", bytes, "how columns of bytes are written: hex (\\x00ff) or raw")
      ->check(CLI::IsMember({"hex", "raw"}));
}

void DialectFlags::add_reading_to(CLI::App& command) {
  command.add_option("--skip", skip_lines, "leave out so many lines at the beginning of each file");
  command.add_option("--comment", comment, "lines that begin with this text are skipped");
  command.add_flag("--skip-blank", skip_blank,
                   "empty lines are skipped, also where a record has one field");
  command.add_flag("--fill-missing", fill_missing,
                   "fields that are missing at the end of a record are null");
  command.add_flag("--trailing-delimiter", trailing_delimiter,
                   "a delimiter may stand behind the last field");
  command.add_option("--line-end", line_end, "lf (also with a cr before it) or cr")
      ->check(CLI::IsMember({"lf", "cr"}));
  command.add_option("--encoding", encoding,
                     "utf-8 (default), or what iconv reads: latin1, windows-1252, utf-16le ...;\n"
                     "bytes: as they are, whether they are UTF-8 or not");
  add_value_flags_to(command);
}

void DialectFlags::add_value_flags_to(CLI::App& command) {
  command.add_flag("--trim", trim, "blanks around fields, and before quotes, do not count");
  command.add_flag("--decimal-comma", decimal_comma, "numbers have a comma for the point: 7,25");
  command.add_option("--thousands", thousands,
                     "what stands between groups of three digits: one byte, or \"space\"");
  command.add_option("--date-format", date_format,
                     "of dates: %d.%m.%Y (of %Y %m %d %b %B %%; default: 2024-02-29)");
  command.add_option("--timestamp-format", timestamp_format,
                     "of timestamps, with %H %M %S %f %z: \"%d/%m/%Y %H:%M:%S\"");
  command.add_flag("--keep-nested", keep_nested,
                   "JSON: columns of text take objects, arrays and all other values, as JSON");
  command.add_flag("--ignore-unknown", ignore_unknown,
                   "leave out members, and fields of a header, that the table has no column for");
}

load::ToldDialect DialectFlags::told() const {
  return {.format = !format.empty(),
          .delimiter = !delimiter.empty(),
          .quote = !quote.empty() || !escape.empty()};
}

void DialectFlags::require_of_format(Format chosen) const {
  const bool is_json = chosen == Format::jsonl || chosen == Format::json;
  if (chosen != Format::csv && (!quote.empty() || !escape.empty())) {
    throw UsageError("--quote and --escape are of csv; csv with --delimiter tab has them, too");
  }
  if (chosen != Format::csv && chosen != Format::tbl && !delimiter.empty()) {
    throw UsageError("--delimiter is of csv and tbl");
  }
  if (is_json && !null_texts.empty()) {
    throw UsageError("--null is not of JSON, which has null");
  }
  if (is_json &&
      (trim || fill_missing || trailing_delimiter || decimal_comma || !thousands.empty())) {
    throw UsageError(
        "--trim, --fill-missing, --trailing-delimiter, --decimal-comma and --thousands are not of "
        "JSON");
  }
}

void DialectFlags::set_reading(load::Dialect& dialect) const {
  dialect.comment = comment;
  dialect.skip_blank = skip_blank;
  dialect.blank_is_nothing = true;
  dialect.trim = trim;
  dialect.fill_missing = fill_missing;
  dialect.drops_empty_end = dialect.drops_empty_end || trailing_delimiter;
  if (!dialect.is_json()) {
    dialect.line_end = line_end == "cr" ? '\r' : '\n';
  }
  dialect.keep_nested = keep_nested;
  dialect.ignore_unknown = ignore_unknown;
  dialect.checks_utf8 = encoding != load::kAnyBytes;
  dialect.values.decimal_point = decimal_comma ? ',' : '.';
  if (!thousands.empty()) {
    dialect.values.thousands = thousands == "space" ? ' ' : byte_of("--thousands", thousands);
    const char byte = dialect.values.thousands;
    if (byte == dialect.values.decimal_point || (byte >= '0' && byte <= '9') || byte == '-') {
      throw UsageError(
          "--thousands is neither a digit, nor a sign, nor what stands before decimals");
    }
  }
  if (!date_format.empty()) {
    load::require_date_format("--date-format", date_format);
  }
  if (!timestamp_format.empty()) {
    load::require_date_format("--timestamp-format", timestamp_format);
  }
  dialect.values.date_format = date_format;
  dialect.values.timestamp_format = timestamp_format;
}

load::Dialect DialectFlags::dialect(const std::string& path) const {
  // What csv alone has says that it is csv.
  const bool is_csv_said = !quote.empty() || !escape.empty() || !delimiter.empty();
  const Format by_name = load::format_of_path(path).value_or(Format::csv);
  const Format unsaid = is_csv_said && by_name != Format::tbl ? Format::csv : by_name;
  const Format chosen = load::format_of_name(format).value_or(unsaid);
  require_of_format(chosen);
  load::Dialect dialect = load::Dialect::of(chosen);
  if (!delimiter.empty()) {
    const std::string between = bytes_of("--delimiter", delimiter);
    dialect.delimiter = between[0];
    dialect.delimiter_rest = between.substr(1);
  }
  if (quote == kNone) {
    dialect.quote.reset();
  } else if (!quote.empty()) {
    dialect.quote = byte_of("--quote", quote);
  }
  if (!escape.empty()) {
    dialect.escape = byte_of("--escape", escape);
  }
  if (!null_texts.empty()) {
    dialect.null_rule = load::NullRule::text;
    dialect.null_text = null_texts.front();
    dialect.more_null_texts.assign(null_texts.begin() + 1, null_texts.end());
  }
  dialect.bytes = bytes == "raw" ? load::BytesText::raw : load::BytesText::hex;
  set_reading(dialect);
  require_apart(dialect);
  return dialect;
}

}  // namespace palimpsest::tools
