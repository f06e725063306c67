#include "palimpsest/value.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <ostream>

#include "palimpsest/error.h"

namespace palimpsest {

std::string_view name_of(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::null: return "null";
    case ValueKind::boolean: return "boolean";
    case ValueKind::integer: return "integer";
    case ValueKind::floating: return "floating";
    case ValueKind::decimal: return "decimal";
    case ValueKind::date: return "date";
    case ValueKind::timestamp: return "timestamp";
    case ValueKind::bytes: return "bytes";
  }
  return "unknown";
}

void Value::refuse_integer(std::uint64_t value) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} does not fit a column: the largest integer is {}", value,
                          std::numeric_limits<std::int64_t>::max()));
}

void Value::refuse(ValueKind wanted) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("a value was requested as {}, but is {}",
                                                       name_of(wanted), name_of(kind())));
}

std::string Value::text() const {
  switch (kind()) {
    case ValueKind::null: return "null";
    case ValueKind::boolean: return as_boolean() ? "true" : "false";
    case ValueKind::integer: return fmt::format("{}", as_integer());
    case ValueKind::floating: return fmt::format("{}", as_floating());
    case ValueKind::decimal: return as_decimal().text();
    case ValueKind::date: return as_date().text();
    case ValueKind::timestamp: return as_timestamp().text();
    case ValueKind::bytes: return std::string(as_bytes());
  }
  return {};
}

bool operator==(const Value& a, const Value& b) noexcept {
  const auto* number_a = std::get_if<double>(&a.content_);
  const auto* number_b = std::get_if<double>(&b.content_);
  if (number_a != nullptr && number_b != nullptr && std::isnan(*number_a)) {
    return std::isnan(*number_b);
  }
  return a.content_ == b.content_;
}

std::ostream& operator<<(std::ostream& out, const Value& value) {
  return out << name_of(value.kind()) << ' ' << value.text();
}

}  // namespace palimpsest
