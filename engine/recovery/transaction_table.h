// The transactions active at the end of the log: follows the transactions of every slot through the
// counted records, in the order of the stream.
//
// A slot's log contains one transaction after the other, so each log of an incarnation has at most
// one open transaction here, and memory is proportional to slots and incarnations. Changes and
// commits do not name their transaction: a change without a predecessor begins a transaction, other
// changes continue the open one, and a commit ends it. Compensations and the end of a rollback name
// their transaction, since recovery writes them into another slot's log of a later incarnation.
//
// A transaction that began before replay's start has ended: the start never passes the first record
// of an active transaction, and waits until commits are durable. So such a transaction is followed
// only to check that its end comes.
// Invariants: (1) an open transaction's undo_next is its newest change that is not undone (I-5 in
// docs/invariants.md); (2) what has to be undone lies in the replay range.
// Thread-safety: none. Failure: Error corruption, naming incarnation, slot and LSN, for a log in
// which the transactions make no sense.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "buffer/space_map.h"
#include "wal/log_reader.h"
#include "wal/transaction_record.h"

namespace palimpsest::engine {

/// A transaction that has to be rolled back.
struct LoserTransaction {
  wal::TransactionName name;
  /// The next change to undo; kNoLsn: all are undone, and only the record that says so is missing.
  Lsn undo_next{wal::kNoLsn};
  /// In the log of its changes: where wal::LogCursor::find() may begin. kNowhere only if nothing
  /// has to be undone.
  wal::StreamPosition newest_chunk = wal::kNowhere;

  friend bool operator==(const LoserTransaction&, const LoserTransaction&) = default;
};

/// Pages that a transaction released by the change with this GSN.
struct GivenUp {
  buffer::PageRun run;
  Gsn gsn{};
};

class TransactionTable {
 public:
  /// A transaction that is being followed.
  struct Open {
    Lsn first{wal::kNoLsn};  ///< kNoLsn: it began before replay's start
    Lsn undo_next{wal::kNoLsn};
    std::vector<GivenUp> given_up;  ///< except those taken back by compensation
  };

  /// Each takes the next counted record. The returned transaction is valid until the next call.
  Open& change(const wal::LoggedRecord& logged, std::uint32_t back);
  Open& compensation(const wal::LoggedRecord& logged, const wal::CompensationPrefix& prefix);
  /// Returns what the transaction released: free once no reader needs it.
  std::vector<GivenUp> commit(const wal::LoggedRecord& logged);
  void rolled_back(const wal::LoggedRecord& logged, const wal::TransactionName& name);
  void system(const wal::LoggedRecord& logged) { static_cast<void>(log_of(logged)); }

  /// At the end of the stream: the transactions that have not ended, in ascending order.
  [[nodiscard]] std::vector<LoserTransaction> losers() const;

 private:
  using LogName = std::pair<wal::Incarnation, SlotId>;
  /// One slot's log in one incarnation.
  struct SlotLog {
    Lsn oldest{wal::kNoLsn};  ///< of the records in the replay range
    wal::StreamPosition newest_chunk = wal::kNowhere;
    std::optional<Lsn> ended;  ///< transactions that began up to here have ended
    std::optional<Open> open;
  };

  SlotLog& log_of(const wal::LoggedRecord& logged);
  /// The open transaction of that name; creates it if its changes lie before replay's start.
  Open& named(const wal::LoggedRecord& logged, const wal::TransactionName& name);
  static void require_changes(const LogName& name, const SlotLog& log);

  std::map<LogName, SlotLog> logs_;
  LogName recent_name_{};
  SlotLog* recent_ = nullptr;  ///< consecutive records are often of one log
};

}  // namespace palimpsest::engine
