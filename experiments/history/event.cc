#include "experiments/history/event.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace palimpsest::experiments::history {
namespace {

constexpr std::array kTypes{EventType::invoke, EventType::ok, EventType::fail, EventType::info};

/// How the two languages spell the same.
struct Spelling {
  std::string_view read;
  std::string_view append;
  std::string_view write;
  std::string_view null;
  char separator;
};

constexpr Spelling kJson{
    .read = "\"r\"", .append = "\"append\"", .write = "\"w\"", .null = "null", .separator = ','};
constexpr Spelling kEdn{
    .read = ":r", .append = ":append", .write = ":w", .null = "nil", .separator = ' '};

std::string_view name_of(OperationKind kind, const Spelling& spelling) {
  switch (kind) {
    case OperationKind::read_list:
    case OperationKind::read_register: return spelling.read;
    case OperationKind::append: return spelling.append;
    case OperationKind::write: break;
  }
  return spelling.write;
}

void add_number(std::string& text, std::int64_t number) {
  text += std::to_string(number);
}

void add_values(std::string& text, const Operation& operation, const Spelling& spelling) {
  const bool is_list = operation.kind == OperationKind::read_list;
  if ((is_read(operation.kind) && !operation.known) || (!is_list && operation.values.empty())) {
    text += spelling.null;
    return;
  }
  if (!is_list) {
    add_number(text, operation.values.front());
    return;
  }
  text += '[';
  for (std::size_t i = 0; i < operation.values.size(); ++i) {
    if (i != 0) {
      text += spelling.separator;
    }
    add_number(text, operation.values[i]);
  }
  text += ']';
}

void add_operations(std::string& text, const std::vector<Operation>& operations,
                    const Spelling& spelling) {
  text += '[';
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    if (i != 0) {
      text += spelling.separator;
    }
    text += '[';
    text += name_of(operation.kind, spelling);
    text += spelling.separator;
    add_number(text, operation.key);
    text += spelling.separator;
    add_values(text, operation, spelling);
    text += ']';
  }
  text += ']';
}

/// Reads a line from its beginning; each function says whether what it wants is there.
class Parser {
 public:
  explicit Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char wanted) {
    skip_spaces();
    if (at_ == end_ || *at_ != wanted) {
      return false;
    }
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!std::string_view(at_, end_).starts_with(word)) {
      return false;
    }
    at_ += word.size();
    return true;
  }
  template <class Integer>
  bool number(Integer& value) {
    skip_spaces();
    const auto [end, error] = std::from_chars(at_, end_, value);
    at_ = error == std::errc() ? end : at_;
    return error == std::errc();
  }
  /// A text without escapes.
  bool text(std::string_view& value) {
    if (!take('"')) {
      return false;
    }
    const char* begin = at_;
    while (at_ != end_ && *at_ != '"') {
      ++at_;
    }
    value = std::string_view(begin, at_);
    return take('"');
  }
  bool at_end() {
    skip_spaces();
    return at_ == end_;
  }

 private:
  void skip_spaces() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) {
      ++at_;
    }
  }

  const char* at_;
  const char* end_;
};

bool parse_list(Parser& parser, std::vector<std::int64_t>& values) {
  if (parser.take(']')) {
    return true;
  }
  do {
    if (!parser.number(values.emplace_back())) {
      return false;
    }
  } while (parser.take(','));
  return parser.take(']');
}

bool parse_operation(Parser& parser, Operation& operation) {
  std::string_view name;
  if (!parser.take('[') || !parser.text(name) || !parser.take(',') ||
      !parser.number(operation.key) || !parser.take(',')) {
    return false;
  }
  operation.kind = name == "append" ? OperationKind::append
                   : name == "w"    ? OperationKind::write
                                    : OperationKind::read_register;
  if (operation.kind == OperationKind::read_register && name != "r") {
    return false;
  }
  if (parser.take("null")) {
    return is_read(operation.kind) && parser.take(']');
  }
  if (parser.take('[')) {
    if (!is_read(operation.kind) || !parse_list(parser, operation.values)) {
      return false;
    }
    operation.kind = OperationKind::read_list;
  } else if (!parser.number(operation.values.emplace_back())) {
    return false;
  }
  return parser.take(']');
}

bool parse_operations(Parser& parser, std::vector<Operation>& operations) {
  if (!parser.take('[')) {
    return false;
  }
  if (parser.take(']')) {
    return true;
  }
  do {
    if (!parse_operation(parser, operations.emplace_back())) {
      return false;
    }
  } while (parser.take(','));
  return parser.take(']');
}

bool parse_type(Parser& parser, EventType& type) {
  std::string_view name;
  if (!parser.text(name)) {
    return false;
  }
  for (const EventType candidate : kTypes) {
    if (name_of(candidate) == name) {
      type = candidate;
      return true;
    }
  }
  return false;
}

bool parse_field(Parser& parser, Event& event) {
  std::string_view name;
  if (!parser.text(name) || !parser.take(':')) {
    return false;
  }
  if (name == "type") {
    return parse_type(parser, event.type);
  }
  if (name == "process") {
    return parser.number(event.process);
  }
  if (name == "index") {
    return parser.number(event.index);
  }
  if (name == "time") {
    return parser.number(event.time_ns);
  }
  if (name == "value") {
    return parse_operations(parser, event.operations);
  }
  return name == "f" && parser.text(name);
}

}  // namespace

std::string_view name_of(EventType type) noexcept {
  switch (type) {
    case EventType::invoke: return "invoke";
    case EventType::ok: return "ok";
    case EventType::fail: return "fail";
    case EventType::info: break;
  }
  return "info";
}

void append_json(std::string& text, const std::vector<Operation>& operations) {
  add_operations(text, operations, kJson);
}

void append_json(std::string& text, const Event& event) {
  text += fmt::format(R"({{"type":"{}","process":{},"index":{},"time":{},"f":"txn","value":)",
                      name_of(event.type), event.process, event.index, event.time_ns);
  add_operations(text, event.operations, kJson);
  text += "}\n";
}

void append_edn(std::string& text, const Event& event) {
  text += fmt::format("{{:type :{}, :process {}, :index {}, :time {}, :f :txn, :value ",
                      name_of(event.type), event.process, event.index, event.time_ns);
  add_operations(text, event.operations, kEdn);
  text += "}\n";
}

bool parse_json(std::string_view line, Event& event) {
  event = Event{};
  Parser parser(line);
  if (!parser.take('{')) {
    return false;
  }
  do {
    if (!parse_field(parser, event)) {
      return false;
    }
  } while (parser.take(','));
  if (!parser.take('}') || !parser.at_end()) {
    return false;
  }
  for (Operation& operation : event.operations) {
    operation.known = is_read(operation.kind) && event.type == EventType::ok;
  }
  return true;
}

}  // namespace palimpsest::experiments::history
