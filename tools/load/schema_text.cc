#include "tools/load/schema_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "palimpsest/error.h"

#include "tools/load/fault.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

bool is_of_word(char byte) noexcept {
  return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         byte == '_' || static_cast<unsigned char>(byte) >= 0x80;
}

bool is_space(char byte) noexcept {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  });
  return text;
}

struct Token {
  enum class Kind : std::uint8_t { end, word, quoted, punctuation };

  Kind kind = Kind::end;
  std::size_t at = 0;
  std::string text{};  ///< of a name in quotes: what it means

  [[nodiscard]] bool is(std::string_view expected) const {
    return (kind == Kind::word || kind == Kind::punctuation) && lower(text) == expected;
  }
  [[nodiscard]] std::string shown() const {
    return kind == Kind::end ? "the end" : in_quotes(text);
  }
};

class Tokens {
 public:
  /// `what` the text is, for messages.
  Tokens(std::string_view text, std::string_view what) : text_(text), what_(what) { advance(); }

  [[nodiscard]] const Token& now() const noexcept { return now_; }
  Token take() {
    Token taken = now_;
    advance();
    return taken;
  }
  bool take_if(std::string_view expected) {
    const bool is = now_.is(expected);
    if (is) {
      advance();
    }
    return is;
  }
  void require(std::string_view expected) {
    if (!take_if(expected)) {
      refuse(fmt::format("\"{}\" is expected, not {}", expected, now_.shown()));
    }
  }
  [[noreturn]] void refuse(const std::string& why) const { refuse_at(now_.at, why); }
  [[noreturn]] void refuse_at(std::size_t at, const std::string& why) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    throw UsageError(
        fmt::format("{}, line {}, column {}: {}", what_, line, at - line_begin + 1, why));
  }

 private:
  void skip_space() {
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) {
        ++at_;
      }
      if (!text_.substr(at_).starts_with("--")) {
        return;
      }
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }
  void advance() {
    skip_space();
    now_ = {.kind = Token::Kind::end, .at = at_};
    if (at_ == text_.size()) {
      return;
    }
    if (text_[at_] == '"') {
      take_quoted();
      return;
    }
    std::size_t end = at_;
    while (end < text_.size() && is_of_word(text_[end])) {
      ++end;
    }
    now_.kind = end == at_ ? Token::Kind::punctuation : Token::Kind::word;
    now_.text = text_.substr(at_, std::max<std::size_t>(end - at_, 1));
    at_ += now_.text.size();
  }
  void take_quoted() {
    now_.kind = Token::Kind::quoted;
    for (++at_;; ++at_) {
      if (at_ == text_.size()) {
        refuse("the name in quotes does not end");
      }
      if (text_[at_] == '"' && !text_.substr(at_ + 1).starts_with('"')) {
        ++at_;
        return;
      }
      if (text_[at_] == '"') {
        ++at_;
      }
      now_.text += text_[at_];
    }
  }

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
  Token now_{};
};

std::string take_name(Tokens& tokens, std::string_view of) {
  const Token& token = tokens.now();
  if (token.kind != Token::Kind::quoted && token.kind != Token::Kind::word) {
    tokens.refuse(fmt::format("the name of {} is expected, not {}", of, token.shown()));
  }
  if (token.kind == Token::Kind::word && is_digit(token.text.front())) {
    tokens.refuse(
        fmt::format("a name that begins with a digit needs double quotes: {}", token.shown()));
  }
  return tokens.take().text;
}

std::vector<std::string> take_names(Tokens& tokens) {
  std::vector<std::string> names;
  tokens.require("(");
  do {
    names.push_back(take_name(tokens, "a column"));
  } while (tokens.take_if(","));
  tokens.require(")");
  return names;
}

std::uint32_t take_number(Tokens& tokens) {
  const Token& token = tokens.now();
  std::uint32_t number = 0;
  const char* const end = token.text.data() + token.text.size();
  const auto [rest, error] = std::from_chars(token.text.data(), end, number);
  if (token.kind != Token::Kind::word || error != std::errc() || rest != end) {
    tokens.refuse(fmt::format("a number is expected, not {}", token.shown()));
  }
  tokens.take();
  return number;
}

/// How many numbers in parentheses a type has.
enum class Parameters : std::uint8_t { none = 1, length, optional_length, digits, optional_digits };

struct TypeName {
  std::string_view name;
  ColumnType type;
  Parameters parameters;
};

constexpr std::array kTypeNames{
    TypeName{"int8", ColumnType::int8, Parameters::none},
    TypeName{"int16", ColumnType::int16, Parameters::none},
    TypeName{"int32", ColumnType::int32, Parameters::none},
    TypeName{"int64", ColumnType::int64, Parameters::none},
    TypeName{"float", ColumnType::float32, Parameters::none},
    TypeName{"double", ColumnType::float64, Parameters::none},
    TypeName{"decimal", ColumnType::decimal, Parameters::digits},
    TypeName{"bool", ColumnType::boolean, Parameters::none},
    TypeName{"date", ColumnType::date, Parameters::none},
    TypeName{"timestamp", ColumnType::timestamp, Parameters::none},
    TypeName{"char", ColumnType::character, Parameters::length},
    TypeName{"varchar", ColumnType::varchar, Parameters::optional_length},
    TypeName{"bytes", ColumnType::bytes, Parameters::optional_length},
    // Other spellings: text_of() prints the first one of a type.
    TypeName{"boolean", ColumnType::boolean, Parameters::none},
    TypeName{"float32", ColumnType::float32, Parameters::none},
    TypeName{"float64", ColumnType::float64, Parameters::none},
    TypeName{"character", ColumnType::character, Parameters::length},
    // As SQL has them.
    TypeName{"tinyint", ColumnType::int8, Parameters::none},
    TypeName{"smallint", ColumnType::int16, Parameters::none},
    TypeName{"int", ColumnType::int32, Parameters::none},
    TypeName{"integer", ColumnType::int32, Parameters::none},
    TypeName{"serial", ColumnType::int32, Parameters::none},
    TypeName{"bigint", ColumnType::int64, Parameters::none},
    TypeName{"bigserial", ColumnType::int64, Parameters::none},
    TypeName{"real", ColumnType::float32, Parameters::none},
    TypeName{"numeric", ColumnType::decimal, Parameters::optional_digits},
    TypeName{"datetime", ColumnType::timestamp, Parameters::none},
    TypeName{"timestamptz", ColumnType::timestamp, Parameters::none},
    TypeName{"text", ColumnType::varchar, Parameters::optional_length},
    TypeName{"string", ColumnType::varchar, Parameters::optional_length},
    TypeName{"blob", ColumnType::bytes, Parameters::optional_length},
    TypeName{"bytea", ColumnType::bytes, Parameters::none},
    TypeName{"varbinary", ColumnType::bytes, Parameters::optional_length},
};

/// numeric without digits has these.
constexpr std::uint32_t kNumericDigits = 38;
constexpr std::uint32_t kNumericScale = 10;

void take_parameters(Tokens& tokens, Parameters parameters, DataType& type) {
  const bool may_miss = parameters == Parameters::none ||
                        parameters == Parameters::optional_length ||
                        parameters == Parameters::optional_digits;
  if (type.type == ColumnType::varchar || type.type == ColumnType::bytes) {
    type.length = kVarcharBytesMax;
  }
  if (parameters == Parameters::optional_digits) {
    type.precision = kNumericDigits;
    type.scale = kNumericScale;
  }
  if (parameters == Parameters::none || (may_miss && !tokens.now().is("("))) {
    return;
  }
  tokens.require("(");
  if (parameters == Parameters::digits || parameters == Parameters::optional_digits) {
    type.precision = take_number(tokens);
    type.scale = tokens.take_if(",") ? take_number(tokens) : 0;
  } else {
    type.length = take_number(tokens);
  }
  tokens.require(")");
}

/// What SQL may say behind "timestamp": all of them are points in time.
void take_time_zone(Tokens& tokens, const DataType& type) {
  if (type.type == ColumnType::timestamp && (tokens.take_if("with") || tokens.take_if("without"))) {
    tokens.require("time");
    tokens.require("zone");
  }
}

DataType take_type(Tokens& tokens) {
  const std::string name = lower(tokens.now().text);
  const auto found = std::ranges::find(kTypeNames, name, &TypeName::name);
  if (tokens.now().kind != Token::Kind::word || found == kTypeNames.end()) {
    tokens.refuse(fmt::format(
        "a type is expected, not {}; types are int8, int16, int32, int64, float, "
        "double, decimal(p,s), bool, date, timestamp, char(n), varchar, bytes, and as SQL "
        "calls them",
        tokens.now().shown()));
  }
  tokens.take();
  DataType type{.type = found->type};
  Parameters parameters = found->parameters;
  if (type.type == ColumnType::character && tokens.take_if("varying")) {
    type.type = ColumnType::varchar;
    parameters = Parameters::optional_length;
  } else if (type.type == ColumnType::float64) {
    tokens.take_if("precision");
  }
  take_parameters(tokens, parameters, type);
  take_time_zone(tokens, type);
  return type;
}

class SchemaReader {
 public:
  SchemaReader(std::string_view text, std::string_view table_name) : tokens_(text, "schema") {
    result_.table.name = table_name;
  }

  TableText read() {
    const bool in_parentheses = take_create();
    do {
      const bool is_at_end = tokens_.now().kind == Token::Kind::end || tokens_.now().is(")");
      if (is_at_end && !result_.table.columns.empty()) {
        break;  // a comma behind the last item
      }
      take_item();
    } while (tokens_.take_if(","));
    if (in_parentheses) {
      tokens_.require(")");
    }
    tokens_.take_if(";");
    if (tokens_.now().kind != Token::Kind::end) {
      tokens_.refuse(fmt::format("\",\" or the end is expected, not {}", tokens_.now().shown()));
    }
    if (result_.table.key.empty()) {
      tokens_.refuse(
          "there is no primary key: \"primary key\" behind a column's type, or "
          "\"primary key (a, b)\"");
    }
    validate();
    return std::move(result_);
  }

 private:
  /// "create table t (", or "(" alone; whether that was there. The table's name is that of
  /// --schema.
  bool take_create() {
    if (tokens_.now().is("create")) {
      Tokens ahead = tokens_;
      ahead.take();
      if (ahead.take_if("table")) {
        static_cast<void>(take_name(ahead, "a table"));
        ahead.require("(");
        tokens_ = ahead;
        return true;
      }
    }
    return tokens_.take_if("(");
  }
  void take_item() {
    const std::size_t at = tokens_.now().at;
    if (tokens_.take_if("primary")) {
      tokens_.require("key");
      set_key(at, take_names(tokens_));
    } else if (tokens_.take_if("unique")) {
      tokens_.require("index");
      take_index(true);
    } else if (tokens_.take_if("index")) {
      take_index(false);
    } else {
      take_column();
    }
  }
  void take_index(bool unique) {
    IndexSchema index{.name = take_name(tokens_, "an index"), .unique = unique};
    index.columns = take_names(tokens_);
    result_.indexes.push_back(std::move(index));
  }
  void take_column() {
    ColumnDefinition column{.name = take_name(tokens_, "a column")};
    column.type = take_type(tokens_);
    for (;;) {
      const std::size_t at = tokens_.now().at;
      if (tokens_.take_if("null")) {
        column.type.nullable = true;
      } else if (tokens_.take_if("not")) {
        tokens_.require("null");
        column.type.nullable = false;
      } else if (tokens_.take_if("primary")) {
        tokens_.require("key");
        set_key(at, {column.name});
      } else {
        break;
      }
    }
    result_.table.columns.push_back(std::move(column));
  }
  void set_key(std::size_t at, std::vector<std::string> columns) {
    if (!result_.table.key.empty()) {
      tokens_.refuse_at(at,
                        "a second primary key; one of several columns is \"primary key (a, b)\"");
    }
    result_.table.key = std::move(columns);
  }
  void validate() const {
    try {
      result_.table.validate();
      for (const IndexSchema& index : result_.indexes) {
        index.validate(result_.table);
      }
    } catch (const Error& error) {
      throw UsageError(fmt::format("schema: {}", error.what()));
    }
    for (std::size_t i = 0; i < result_.indexes.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (result_.indexes[i].name == result_.indexes[j].name) {
          throw UsageError(
              fmt::format("schema: index {} is there twice", in_quotes(result_.indexes[i].name)));
        }
      }
    }
  }

  Tokens tokens_;
  TableText result_{};
};

std::string text_of_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name_text_of(name);
  }
  return text;
}

}  // namespace

TableText parse_schema(std::string_view text, std::string_view table_name) {
  return SchemaReader(text, table_name).read();
}

std::string name_text_of(std::string_view name) {
  const bool is_word =
      !name.empty() && std::ranges::all_of(name, is_of_word) && !is_digit(name.front());
  const std::string word = lower(name);
  if (is_word && word != "primary" && word != "unique" && word != "index") {
    return std::string(name);
  }
  std::string text = "\"";
  for (const char byte : name) {
    text.append(byte == '"' ? 2 : 1, byte);
  }
  return text + '"';
}

std::string type_text_of(const DataType& type) {
  const auto found = std::ranges::find(kTypeNames, type.type, &TypeName::type);
  std::string text(found == kTypeNames.end() ? "unknown" : found->name);
  if (type.type == ColumnType::decimal) {
    text += fmt::format("({},{})", type.precision, type.scale);
  } else if (type.length != 0 &&
             !(type.length == kVarcharBytesMax && type.type != ColumnType::character)) {
    text += fmt::format("({})", type.length);
  }
  return type.nullable ? text + " null" : text;
}

std::string text_of(const TableText& table) {
  const std::vector<std::string>& key = table.table.key;
  std::string text;
  for (const ColumnDefinition& column : table.table.columns) {
    text += text.empty() ? "" : ", ";
    text += name_text_of(column.name) + " " + type_text_of(column.type);
    text += key.size() == 1 && key.front() == column.name ? " primary key" : "";
  }
  if (key.size() > 1) {
    text += fmt::format(", primary key ({})", text_of_names(key));
  }
  for (const IndexSchema& index : table.indexes) {
    text += fmt::format(", {}index {} ({})", index.unique ? "unique " : "",
                        name_text_of(index.name), text_of_names(index.columns));
  }
  return text;
}

std::vector<std::string> parse_names(std::string_view text) {
  Tokens tokens(text, "columns");
  std::vector<std::string> names;
  do {
    names.push_back(tokens.take_if("-") ? "" : take_name(tokens, "a column"));
  } while (tokens.take_if(","));
  if (tokens.now().kind != Token::Kind::end) {
    tokens.refuse(fmt::format("\",\" or the end is expected, not {}", tokens.now().shown()));
  }
  return names;
}

}  // namespace palimpsest::load
