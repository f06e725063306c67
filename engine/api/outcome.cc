#include "palimpsest/outcome.h"

#include <fmt/format.h>

#include "base/check.h"

namespace palimpsest {
namespace {

/// `table "account", index "by_owner"`
std::string where(const Outcome::Place& place) {
  return place.index.empty() ? fmt::format("table \"{}\"", place.table)
                             : fmt::format("table \"{}\", index \"{}\"", place.table, place.index);
}

/// What has happened to the key, or, if the place names no key, to the definition.
std::string what(OutcomeKind kind, const Outcome::Place& place) {
  const std::string key = place.key.empty() ? "" : ": key " + place.key;
  switch (kind) {
    case OutcomeKind::done: return " done";
    case OutcomeKind::exists: return key + " exists";
    case OutcomeKind::absent: return key + " does not exist";
    case OutcomeKind::conflict: return key + " has been changed by another transaction";
  }
  return " has an outcome that is unknown";
}

ErrorCode code_of(OutcomeKind kind) noexcept {
  switch (kind) {
    case OutcomeKind::exists: return ErrorCode::already_exists;
    case OutcomeKind::absent: return ErrorCode::not_found;
    case OutcomeKind::done:
    case OutcomeKind::conflict: break;
  }
  return ErrorCode::conflict;
}

}  // namespace

Outcome::Outcome(OutcomeKind kind, Place place)
    : kind_(kind), place_(std::make_shared<const Place>(std::move(place))) {
  check(kind != OutcomeKind::done, "only a call that failed has a place");
}

const Outcome::Place& Outcome::place() const noexcept {
  static const Place nowhere{};
  return place_ != nullptr ? *place_ : nowhere;
}

std::string Outcome::text() const {
  return is_done() ? "done" : where(place()) + what(kind_, place());
}

void Outcome::refuse() const {
  throw Error(code_of(kind_), text());
}

}  // namespace palimpsest
