#include "wal/transaction_record.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace palimpsest::wal {
namespace {

bool is_role(unsigned role) noexcept {
  return role >= static_cast<unsigned>(RecordRole::system) &&
         role <= static_cast<unsigned>(RecordRole::rolled_back);
}

/// Roles that end a transaction have no body, the others do.
bool may_have(RecordRole role, unsigned body) noexcept {
  const bool ends = role == RecordRole::commit || role == RecordRole::rolled_back;
  return ends ? body == 0 : body != 0 && body <= static_cast<unsigned>(BodyKind::space);
}

template <class T>
T load(ConstBytes bytes) noexcept {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::string_view name_of(BodyKind kind) noexcept {
  switch (kind) {
    case BodyKind::tree: return "tree";
    case BodyKind::space: return "space";
    case BodyKind::none: break;
  }
  return "none";
}

std::string print(const TransactionName& name) {
  return fmt::format("{}/{}/{}", raw(name.incarnation), raw(name.slot), raw(name.first));
}

}  // namespace

std::optional<TransactionRecord> decode(const RecordView& record) noexcept {
  const unsigned type = raw(record.type);
  const unsigned role = type & 0xFFU;
  if (!is_role(role) || !may_have(static_cast<RecordRole>(role), type >> 8U)) {
    return std::nullopt;
  }
  TransactionRecord decoded;
  decoded.role = static_cast<RecordRole>(role);
  decoded.body_kind = static_cast<BodyKind>(type >> 8U);
  const std::size_t prefix = prefix_bytes(decoded.role);
  const bool has_body = decoded.body_kind != BodyKind::none;
  if (record.payload.size() < prefix || (record.payload.size() > prefix) != has_body) {
    return std::nullopt;
  }
  switch (decoded.role) {
    case RecordRole::change: decoded.back = load<std::uint32_t>(record.payload); break;
    case RecordRole::compensation: {
      const auto compensation = load<CompensationPrefix>(record.payload);
      decoded.of = compensation.of;
      decoded.undo_next = compensation.undo_next;
      break;
    }
    case RecordRole::commit: decoded.of.first = load<Lsn>(record.payload); break;
    case RecordRole::rolled_back: decoded.of = load<TransactionName>(record.payload); break;
    case RecordRole::system: break;
  }
  decoded.body = record.payload.subspan(prefix);
  return decoded;
}

std::string print(const TransactionRecord& record) {
  switch (record.role) {
    case RecordRole::system: return fmt::format("system {}", name_of(record.body_kind));
    case RecordRole::change:
      return fmt::format("change {} back {}", name_of(record.body_kind), record.back);
    case RecordRole::compensation:
      return record.undo_next == kNoLsn
                 ? fmt::format("compensation {} of {} undo_next none", name_of(record.body_kind),
                               print(record.of))
                 : fmt::format("compensation {} of {} undo_next {}", name_of(record.body_kind),
                               print(record.of), raw(record.undo_next));
    case RecordRole::commit: return fmt::format("commit first {}", raw(record.of.first));
    case RecordRole::rolled_back: return fmt::format("rolled_back {}", print(record.of));
  }
  return "unknown";
}

}  // namespace palimpsest::wal
