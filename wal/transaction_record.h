// Which transaction a log record belongs to, and what it means for its commit status: the fields
// between the record's header (log_format.h) and its opaque body.
//
// A slot's log holds one transaction after the other. A transaction is named by the incarnation,
// the slot and the LSN of its first change. Its changes are linked backwards, so that rollback and
// recovery read them in the same way. A compensation names the transaction whose change it undoes,
// since recovery writes it into another log, and the change to be undone next, so that none is
// undone twice however often recovery is interrupted (ARIES, TODS 1992, section 3; I-5).
//
// In the log (little-endian; offsets in bytes, from the start of the payload), by role:
//   system        body: a redo-only change that belongs to no transaction
//   change        0  . a varint (base/varint.h): bytes from the record of the previous change of
//   the
//                      transaction to this record, 0 for its first change  then the body
//   compensation  0 24 name of the transaction  24  8 LSN of the change to be undone next, kNoLsn
//                      if all are undone         then the body
//   commit        nothing: it commits the transaction that is open in the slot's log. There is at
//                      most one: a slot begins another transaction only when the last one's end
//                      is in its log, or when the log has failed and nothing more is appended
//   rolled_back   0 24 name of the transaction: all its changes are undone
//   name          0  8 incarnation    8  8 LSN of the first change    16  4 slot    20  4 zero
// The record type in the header is the role, with the kind of body in the upper four bits.
// Failure: bytes may be hostile; decode functions return nothing unless a whole prefix is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "wal/ids.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

/// What a record means for transactions. Never 0.
enum class RecordRole : std::uint8_t {
  system = 1,    ///< redone; belongs to no transaction
  change,        ///< redone, and undone if its transaction does not commit
  compensation,  ///< redone; undoes a change
  commit,        ///< the changes of the slot's transaction are committed
  rolled_back,   ///< all changes of the transaction are undone
};

/// The kind of a record's body.
enum class BodyKind : std::uint8_t {
  none = 0,
  tree,   ///< a change of tree pages (btree/log/tree_record_format.h)
  space,  ///< pages allocated or freed (buffer/space_record.h)
};

[[nodiscard]] constexpr RecordType record_type(RecordRole role, BodyKind body) noexcept {
  return static_cast<RecordType>(static_cast<unsigned>(role) | static_cast<unsigned>(body) << 4U);
}

inline constexpr Lsn kNoLsn{std::numeric_limits<std::uint64_t>::max()};

/// Identifies a transaction among all that ever wrote.
struct TransactionName {
  Incarnation incarnation{};
  Lsn first{};  ///< LSN of its first change
  SlotId slot{};
  std::uint32_t reserved = 0;

  friend bool operator==(const TransactionName&, const TransactionName&) = default;
  friend auto operator<=>(const TransactionName&, const TransactionName&) = default;
};

struct CompensationPrefix {
  TransactionName of;
  Lsn undo_next{kNoLsn};
};

static_assert(sizeof(TransactionName) == 24 && offsetof(TransactionName, slot) == 16);
static_assert(sizeof(CompensationPrefix) == 32 && offsetof(CompensationPrefix, undo_next) == 24);

/// Most bytes between a record's header and its body.
[[nodiscard]] constexpr std::size_t prefix_bytes_max(RecordRole role) noexcept {
  switch (role) {
    case RecordRole::change: return varint_bytes(std::numeric_limits<std::uint32_t>::max());
    case RecordRole::compensation: return sizeof(CompensationPrefix);
    case RecordRole::rolled_back: return sizeof(TransactionName);
    case RecordRole::system:
    case RecordRole::commit: break;
  }
  return 0;
}

/// Most bytes of a whole record, for reserving.
[[nodiscard]] constexpr std::size_t record_bytes_max(RecordRole role,
                                                     std::size_t body_bytes) noexcept {
  return kRecordHeaderBytesMax + prefix_bytes_max(role) + body_bytes;
}

/// By how much a compensation's body may exceed that of the change it undoes: it says where the
/// changed record is by then.
inline constexpr std::size_t kCompensationGrowthMax = 16;
[[nodiscard]] constexpr std::size_t compensation_bytes_max(std::size_t change_body_bytes) noexcept {
  return record_bytes_max(RecordRole::compensation, change_body_bytes + kCompensationGrowthMax);
}

/// A decoded record. Fields that its role lacks are empty.
struct TransactionRecord {
  RecordRole role{};
  BodyKind body_kind{};
  std::uint32_t back = 0;  ///< change
  TransactionName of;      ///< compensation, rolled_back
  Lsn undo_next{kNoLsn};   ///< compensation
  ConstBytes body;         ///< a view
};

/// Removes the distance at the front of a change's payload. False if there is none.
[[nodiscard]] inline bool take_back(ConstBytes& payload, std::uint32_t& back) noexcept {
  const std::byte* end = payload.data() + payload.size();
  std::uint64_t number = 0;
  const std::byte* next = take_varint(payload.data(), end, number);
  if (next == nullptr || number > std::numeric_limits<std::uint32_t>::max()) {
    return false;
  }
  back = static_cast<std::uint32_t>(number);
  payload = {next, end};
  return true;
}

/// decode() for records of any kind.
[[nodiscard]] std::optional<TransactionRecord> decode_any(const RecordView& record) noexcept;

/// Nothing if the record is of no known kind, or too short. Inlined for changes of trees, as nearly
/// all records are.
[[nodiscard]] inline std::optional<TransactionRecord> decode(const RecordView& record) noexcept {
  if (record.type != record_type(RecordRole::change, BodyKind::tree)) {
    return decode_any(record);
  }
  ConstBytes body = record.payload;
  std::uint32_t back = 0;
  if (!take_back(body, back) || body.empty()) {
    return std::nullopt;
  }
  return TransactionRecord{.role = RecordRole::change,
                           .body_kind = BodyKind::tree,
                           .back = back,
                           .of = {},
                           .undo_next = kNoLsn,
                           .body = body};
}

/// One line, without the body.
[[nodiscard]] std::string print(const TransactionRecord& record);

}  // namespace palimpsest::wal
