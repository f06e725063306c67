#include "experiments/history/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace palimpsest::experiments::history {
namespace {

constexpr std::array kTypes{EventType::invoke, EventType::ok, EventType::fail, EventType::info};

/// The spelling of the two formats.
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

/// Reads a line from its beginning; each function returns whether it found what it expects.
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

bool parse_index(Parser& parser, std::uint64_t& index) {
  std::int64_t number = 0;
  if (!parser.number(number) || number < 0) {
    return false;
  }
  index = static_cast<std::uint64_t>(number);
  return true;
}

struct Field {
  std::string_view name;
  bool is_needed;
  std::string_view wanted;
  bool (*parse)(Parser&, Event&);
};

constexpr std::array kFields{
    Field{"type", true, "invoke, ok, fail or info",
          [](Parser& parser, Event& event) { return parse_type(parser, event.type); }},
    Field{"process", true, "a number",
          [](Parser& parser, Event& event) { return parser.number(event.process); }},
    Field{"index", true, "a number from 0 to below 2^63",
          [](Parser& parser, Event& event) { return parse_index(parser, event.index); }},
    Field{"time", false, "a number",
          [](Parser& parser, Event& event) { return parser.number(event.time_ns); }},
    Field{"value", true, "a list of operations",
          [](Parser& parser, Event& event) { return parse_operations(parser, event.operations); }},
    Field{"f", false, "a text",
          [](Parser& parser, Event&) {
            std::string_view ignored;
            return parser.text(ignored);
          }},
};

/// Parses a field that has not occurred yet.
void parse_field(Parser& parser, Event& event, std::array<bool, kFields.size()>& there) {
  std::string_view name;
  if (!parser.text(name) || !parser.take(':')) {
    throw MalformedEvent("not an event: the name of a field and \":\" are missing");
  }
  const auto* const field = std::ranges::find(kFields, name, &Field::name);
  if (field == kFields.end()) {
    throw MalformedEvent(fmt::format("{}: events have no such field", name));
  }
  bool& is_there = there[static_cast<std::size_t>(field - kFields.begin())];
  if (is_there) {
    throw MalformedEvent(fmt::format("{} is named twice", name));
  }
  is_there = true;
  if (!field->parse(parser, event)) {
    throw MalformedEvent(fmt::format("{}: must be {}", name, field->wanted));
  }
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

Event parse_json(std::string_view line) {
  Event event;
  Parser parser(line);
  if (!parser.take('{')) {
    throw MalformedEvent("not an event: it does not begin with {");
  }
  std::array<bool, kFields.size()> there{};
  do {
    parse_field(parser, event, there);
  } while (parser.take(','));
  if (!parser.take('}')) {
    throw MalformedEvent("an event that does not end with }");
  }
  if (!parser.at_end()) {
    throw MalformedEvent("the event is followed by something else");
  }
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (kFields[i].is_needed && !there[i]) {
      throw MalformedEvent(fmt::format("an event without {}", kFields[i].name));
    }
  }
  for (Operation& operation : event.operations) {
    operation.known = is_read(operation.kind) && event.type == EventType::ok;
  }
  return event;
}

}  // namespace palimpsest::experiments::history
