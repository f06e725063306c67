#include "tools/palimpsest/dialect_flags.h"

#include <fmt/format.h>

#include <string_view>

#include "tools/load/usage_error.h"

namespace palimpsest::tools {
namespace {

using load::UsageError;

constexpr std::string_view kNone = "none";

/// One byte, which users may write as "tab" or "\t".
char byte_of(std::string_view option, std::string_view text) {
  if (text == "tab" || text == "\\t") {
    return '\t';
  }
  if (text.size() != 1 || text[0] == '\n' || text[0] == '\r') {
    throw UsageError(fmt::format("{} is one byte, and no line end: not \"{}\"", option, text));
  }
  return text[0];
}

void require_apart(const load::Dialect& dialect) {
  const char quote = dialect.quote.value_or('\n');
  const char escape = dialect.escape.value_or('\n');
  if (dialect.delimiter == quote || dialect.delimiter == escape ||
      (quote == escape && quote != '\n')) {
    throw UsageError("delimiter, quote and escape are different bytes");
  }
  if (dialect.null_rule != load::NullRule::text) {
    return;
  }
  for (const char byte : dialect.null_text) {
    if (byte == dialect.delimiter || byte == '\n' || byte == '\r' || byte == quote ||
        byte == escape) {
      throw UsageError("--null has no delimiter, quote, escape or line end in it");
    }
  }
}

}  // namespace

void DialectFlags::add_to(CLI::App& command) {
  command
      .add_option("--format", format,
                  "csv, tsv, tbl (TPC's) or jsonl; by the file's name if not given, else csv")
      ->check(CLI::IsMember({"csv", "tsv", "tbl", "jsonl"}));
  command.add_option("--delimiter", delimiter,
                     "between fields of csv or tbl: one byte, or \"tab\" (default: , or |)");
  command.add_option("--quote", quote, "around fields of csv: one byte, or none (default: \")");
  command.add_option("--escape", escape,
                     "csv: one byte; the byte behind it stands for itself, and quotes are not\n"
                     "doubled");
  command.add_option("--null", null_text,
                     "a field of exactly this text, without quotes, is null, and an empty one is\n"
                     "not (default: an empty field is null; in tsv \\N is)");
  command.add_option("--bytes", bytes, "how columns of bytes are written: hex (\\x00ff) or raw")
      ->check(CLI::IsMember({"hex", "raw"}));
}

void DialectFlags::add_reading_to(CLI::App& command) {
  command.add_option("--comment", comment, "lines that begin with this text are skipped");
  command.add_flag("--skip-blank", skip_blank, "empty lines are skipped, not errors");
}

load::Dialect DialectFlags::dialect(const std::string& path) const {
  const load::Format chosen = load::format_of_name(format).value_or(load::format_of_path(path));
  load::Dialect dialect = load::Dialect::of(chosen);
  const bool is_csv = chosen == load::Format::csv;
  if (!is_csv && (!quote.empty() || !escape.empty())) {
    throw UsageError("--quote and --escape are of csv; csv with --delimiter tab has them, too");
  }
  if (!is_csv && chosen != load::Format::tbl && !delimiter.empty()) {
    throw UsageError("--delimiter is of csv and tbl");
  }
  if (chosen == load::Format::jsonl && null_text) {
    throw UsageError("--null is not of jsonl, which has null");
  }
  if (!delimiter.empty()) {
    dialect.delimiter = byte_of("--delimiter", delimiter);
  }
  if (quote == kNone) {
    dialect.quote.reset();
  } else if (!quote.empty()) {
    dialect.quote = byte_of("--quote", quote);
  }
  if (!escape.empty()) {
    dialect.escape = byte_of("--escape", escape);
  }
  if (null_text) {
    dialect.null_rule = load::NullRule::text;
    dialect.null_text = *null_text;
  }
  dialect.bytes = bytes == "raw" ? load::BytesText::raw : load::BytesText::hex;
  dialect.comment = comment;
  dialect.skip_blank = skip_blank;
  require_apart(dialect);
  return dialect;
}

}  // namespace palimpsest::tools
