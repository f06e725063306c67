#include "txn/undo.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "wal/log_reader.h"

namespace palimpsest::txn {
namespace {

/// Logs a compensation: (at_least, body) to the GSN that its page gets.
using Append = FunctionRef<Gsn(Gsn at_least, ConstBytes body)>;

[[noreturn]] void refuse(Lsn lsn, std::string_view what) {
  throw Error(
      ErrorCode::corruption,
      fmt::format("the log record at {} of a transaction that is rolled back {}", raw(lsn), what));
}

/// A change of a tree, parsed from its log record.
struct Change {
  wal::TransactionRecord record;
  btree::TreeRecord tree;

  /// The change to undo after this one.
  [[nodiscard]] Lsn next(Lsn lsn) const noexcept {
    return record.back == 0 ? wal::kNoLsn : Lsn{raw(lsn) - record.back};
  }
};

Change take_apart(const wal::RecordView& record, Lsn lsn, std::uint32_t page_size) {
  Change change;
  const auto decoded = wal::decode(record);
  if (!decoded || decoded->role != wal::RecordRole::change ||
      decoded->body_kind != wal::BodyKind::tree || decoded->back > raw(lsn)) {
    refuse(lsn, "is not a change of a tree");
  }
  change.record = *decoded;
  if (const auto fault = btree::parse_tree_record(decoded->body, page_size, change.tree)) {
    refuse(lsn, "is damaged: " + *fault);
  }
  if (!change.tree.is_undoable()) {
    refuse(lsn, "cannot be undone");
  }
  return change;
}

void undo(const Change& change, TreeDirectory& trees, Append append) {
  trees.tree_of(change.tree).undo(change.tree, append);
  if (change.tree.kind == btree::TreeRecordKind::format_root) {
    trees.creation_undone(change.tree.tree);
  }
  PALIMPSEST_SYNC_POINT("txn.undo.done");
}

/// Reserves log space for the compensation of a change; false if the log has failed.
bool can_log(wal::TransactionLog& log, const Change& change) {
  try {
    log.reserve_compensation(change.record.body.size());
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::failed) {
      throw;
    }
    return false;
  }
}

/// The changes of a transaction, in memory or in the stream, newest first.
class OwnChanges {
 public:
  explicit OwnChanges(const wal::TransactionLog& log) : log_(log) {}

  /// Returns a view into this object, valid until the next call.
  wal::RecordView read(Lsn lsn) {
    log_.log().read_back(log_.slot(), lsn, cursor_, bytes_);
    const auto record = wal::record_at(bytes_, 0);
    check(record.has_value(), "a record read back is whole");
    return *record;
  }

 private:
  const wal::TransactionLog& log_;
  wal::LogCursor cursor_;
  std::vector<std::byte> bytes_;
};

}  // namespace

bool roll_back_to(Lsn newest_kept, wal::TransactionLog& log, TreeDirectory& trees) {
  OwnChanges changes(log);
  bool logs = true;
  for (Lsn lsn = log.next_to_undo(); lsn != (logs ? newest_kept : wal::kNoLsn);) {
    const Change change = take_apart(changes.read(lsn), lsn, trees.page_size());
    logs = logs && can_log(log, change);
    undo(change, trees, [&](Gsn at_least, ConstBytes body) {
      if (!logs) {
        return at_least;
      }
      return log.append_compensation(
          at_least, {.back = change.record.back, .body_bytes = change.record.body.size()},
          wal::BodyKind::tree, body.size(),
          [&](MutableBytes into) { std::memcpy(into.data(), body.data(), body.size()); });
    });
    lsn = change.next(lsn);
  }
  if (logs) {
    log.end_undo();
  } else {
    log.abandon();
  }
  return logs;
}

void roll_back(wal::TransactionLog& log, TreeDirectory& trees) {
  if (roll_back_to(wal::kNoLsn, log, trees)) {
    log.reserve_end();
    log.append_rolled_back();
  }
}

void roll_back(const Loser& loser, const wal::Segments& segments, wal::TransactionLog& log,
               TreeDirectory& trees) {
  wal::LogCursor cursor;
  for (Lsn lsn = loser.undo_next; lsn != wal::kNoLsn;) {
    const wal::RecordView record = cursor.find(segments, loser.name.slot, lsn, loser.newest_chunk);
    const Change change = take_apart(record, lsn, trees.page_size());
    log.reserve_compensation(change.record.body.size());
    const Lsn next = change.next(lsn);
    undo(change, trees, [&](Gsn at_least, ConstBytes body) {
      return log.append_compensation_as(
          at_least, {.of = loser.name, .undo_next = next}, wal::BodyKind::tree, body.size(),
          [&](MutableBytes into) { std::memcpy(into.data(), body.data(), body.size()); });
    });
    lsn = next;
  }
  log.reserve_end();
  log.append_rolled_back_as(loser.name);
}

}  // namespace palimpsest::txn
