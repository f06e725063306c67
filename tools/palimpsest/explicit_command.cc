#include "tools/palimpsest/explicit_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/load/dialect.h"
#include "tools/load/schema_text.h"

namespace palimpsest::tools {
namespace {

using load::Dialect;
using load::Header;

/// Bytes as --delimiter takes them.
std::string bytes_word(std::string_view bytes) {
  if (bytes == "\t") {
    return "tab";
  }
  std::string word;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    word +=
        number < 0x20 || number == 0x7F ? fmt::format("\\x{:02x}", number) : std::string(1, byte);
  }
  return word;
}

class Words {
 public:
  void add(std::string_view word) { text_ += " " + shell_word(word); }
  void add(std::string_view option, std::string_view value) {
    add(option);
    add(value);
  }
  void add_if(bool is, std::string_view option) {
    if (is) {
      add(option);
    }
  }
  void add_given(std::string_view option, const std::string& value) {
    if (!value.empty()) {
      add(option, value);
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_ = "palimpsest load";
};

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + (name.empty() ? "-" : load::name_text_of(name));
  }
  return text;
}

void add_delimited(const Dialect& dialect, Words& words) {
  const Dialect usual = Dialect::of(dialect.format);
  if (dialect.delimiter_text() != usual.delimiter_text()) {
    words.add("--delimiter", bytes_word(dialect.delimiter_text()));
  }
  if (dialect.quote != usual.quote) {
    words.add("--quote", dialect.quote ? bytes_word({&*dialect.quote, 1}) : "none");
  }
  if (dialect.escape) {
    words.add("--escape", bytes_word({&*dialect.escape, 1}));
  }
  if (dialect.line_end == '\r') {
    words.add("--line-end", "cr");
  }
  words.add_if(dialect.drops_empty_end && !usual.drops_empty_end, "--trailing-delimiter");
  words.add_if(dialect.trim, "--trim");
  words.add_if(dialect.fill_missing, "--fill-missing");
  if (dialect.null_rule == load::NullRule::text) {
    words.add("--null", dialect.null_text);
    for (const std::string& text : dialect.more_null_texts) {
      words.add("--null", text);
    }
  }
}

void add_values(const Dialect& dialect, Words& words) {
  words.add_if(dialect.values.decimal_point == ',', "--decimal-comma");
  if (dialect.values.thousands != '\0') {
    words.add("--thousands", std::string(1, dialect.values.thousands));
  }
  words.add_given("--date-format", dialect.values.date_format);
  words.add_given("--timestamp-format", dialect.values.timestamp_format);
  words.add_if(dialect.keep_nested, "--keep-nested");
  words.add_if(dialect.ignore_unknown, "--ignore-unknown");
  words.add_if(dialect.bytes == load::BytesText::raw, "--bytes=raw");
}

std::string_view header_word(Header header) noexcept {
  switch (header) {
    case Header::on: return "--header";
    case Header::match: return "--header=match";
    case Header::off:
    case Header::automatic: break;
  }
  return "--header=off";
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char byte : text) {
    word += byte == '\'' ? "'\\''" : std::string(1, byte);
  }
  return word + "'";
}

std::string explicit_command(const load::LoadOptions& options, std::string_view schema) {
  const Dialect& dialect = options.dialect;
  Words words;
  words.add(options.database.pages.string());
  words.add(options.table);
  for (const std::string& file : options.files) {
    words.add(file);
  }
  words.add_given("--log-directory", options.database.log.string());
  words.add("--format", name_of(dialect.format));
  words.add_given("--encoding", options.input.encoding);
  if (options.input.skip_lines != 0) {
    words.add("--skip", std::to_string(options.input.skip_lines));
  }
  words.add_given("--comment", dialect.comment);
  words.add_if(dialect.skip_blank, "--skip-blank");
  if (!dialect.is_json()) {
    add_delimited(dialect, words);
    words.add(header_word(options.header));
    words.add_given("--columns", names_text(options.columns));
  }
  add_values(dialect, words);
  words.add_given("--row-id", options.row_id);
  words.add_given("--schema", std::string(schema));
  return words.take();
}

}  // namespace palimpsest::tools
