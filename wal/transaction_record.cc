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

/// Records that end a transaction have no body; all other records have one.
bool may_have(RecordRole role, unsigned body) noexcept {
  const bool ends = role == RecordRole::commit || role == RecordRole::rolled_back;
  return ends ? body == 0 : body != 0 && body <= static_cast<unsigned>(BodyKind::space);
}

template <class T>
bool take(ConstBytes& bytes, T& value) noexcept {
  if (bytes.size() < sizeof value) {
    return false;
  }
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

/// Removes the fields before the body from it.
bool take_prefix(TransactionRecord& record) noexcept {
  switch (record.role) {
    case RecordRole::change: return take_back(record.body, record.back);
    case RecordRole::compensation: {
      CompensationPrefix prefix;
      const bool taken = take(record.body, prefix) && prefix.of.reserved == 0;
      record.of = prefix.of;
      record.undo_next = prefix.undo_next;
      return taken;
    }
    case RecordRole::rolled_back: return take(record.body, record.of) && record.of.reserved == 0;
    case RecordRole::system:
    case RecordRole::commit: break;
  }
  return true;
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

std::optional<TransactionRecord> decode_any(const RecordView& record) noexcept {
  const unsigned type = raw(record.type);
  const unsigned role = type & 0xFU;
  if (!is_role(role) || !may_have(static_cast<RecordRole>(role), type >> 4U)) {
    return std::nullopt;
  }
  TransactionRecord decoded;
  decoded.role = static_cast<RecordRole>(role);
  decoded.body_kind = static_cast<BodyKind>(type >> 4U);
  decoded.body = record.payload;
  if (!take_prefix(decoded)) {
    return std::nullopt;
  }
  const bool has_body = decoded.body_kind != BodyKind::none;
  return decoded.body.empty() == has_body ? std::nullopt : std::optional(decoded);
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
    case RecordRole::commit: return "commit";
    case RecordRole::rolled_back: return fmt::format("rolled_back {}", print(record.of));
  }
  return "unknown";
}

}  // namespace palimpsest::wal
