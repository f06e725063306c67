#include "tools/load/json_source.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "tools/load/record_reader.h"

namespace palimpsest::load {
namespace {

bool is_space(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

}  // namespace

std::size_t JsonSource::read(std::span<char> into) {
  const std::size_t read = source_->read(into);
  for (char& byte : into.first(read)) {
    pass(byte);
    ++byte_;
  }
  if (read < into.size()) {
    require_end();
  }
  return read;
}

void JsonSource::refuse(const char* what) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: byte {}: {}; JSON is objects, one behind the other, or one array of "
                          "objects",
                          path_, byte_, what));
}

void JsonSource::require_end() const {
  const bool is_whole =
      in_array_ ? place_ == Place::end : place_ == Place::between || place_ == Place::begin;
  if (!is_whole) {
    refuse("the text ends too early");
  }
}

void JsonSource::pass(char& byte) {
  switch (place_) {
    case Place::object: pass_in_object(byte); return;
    case Place::string:
      if (byte == '\\') {
        place_ = Place::escaped;
      } else if (byte == '"') {
        place_ = Place::object;
      }
      return;
    case Place::escaped: place_ = Place::string; return;
    default: pass_outside(byte);
  }
}

void JsonSource::pass_in_object(char byte) {
  if (byte == kObjectEnd) {
    refuse("a control character");
  }
  if (byte == '"') {
    place_ = Place::string;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
  } else if ((byte == '}' || byte == ']') && --depth_ == 0) {
    place_ = in_array_ ? Place::behind : Place::between;
    has_ended_ = true;
  }
}

void JsonSource::begin_object() noexcept {
  place_ = Place::object;
  depth_ = 1;
}

void JsonSource::pass_outside(char& byte) {
  const char is = byte;
  const char stands_for = has_ended_ ? kObjectEnd : (is == '\n' ? '\n' : ' ');
  if (is == '{' && has_ended_) {
    refuse("an object begins where another one ends: a space, a comma or a line end is expected");
  }
  if (is == '{' && place_ != Place::behind && place_ != Place::end) {
    begin_object();
    return;
  }
  has_ended_ = false;
  byte = stands_for;
  if (is_space(is)) {
    return;
  }
  if (is == '[' && place_ == Place::begin) {
    in_array_ = true;
    place_ = Place::in_array;
  } else if (is == ',' && place_ == Place::behind) {
    place_ = Place::behind_comma;
  } else if (is == ']' && (place_ == Place::behind || place_ == Place::in_array)) {
    place_ = Place::end;
  } else {
    refuse("no object");
  }
}

}  // namespace palimpsest::load
