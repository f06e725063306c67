// What changes a tree, in one of three ways (WriteContext):
//
//   UnloggedWrites      nothing is logged, and the tree is as durable as its page file: loads of
//                       trees that no record names yet, undo (which logs by itself), tests
//   TransactionWrites   a transaction, beside others: claims its records, leaves versions, logs
//   BulkWrites          a transaction that has its trees to itself: claims only what undo needs,
//                       leaves no versions, logs
// Either all changes of a database are logged, or none.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "btree/large/large_value_format.h"
#include "btree/space_reclaimer.h"
#include "versioning/chain.h"
#include "versioning/prune.h"
#include "versioning/read_set.h"
#include "versioning/snapshots.h"
#include "versioning/version_buffer.h"
#include "versioning/writer.h"
#include "wal/transaction_log.h"

namespace palimpsest::btree {

/// The effects of a transaction on large values that last beyond its changes.
struct LargeValueOutcome {
  /// Replaced or removed values: their pages are free once the transaction has committed.
  std::vector<LargeValueDescriptor> given_up;
  /// Some values were written: their pages must be durable before the commit record.
  bool wrote = false;
};

/// The versions that a transaction's changes leave for other readers.
struct LeftVersions {
  versioning::VersionBuffer& buffer;
  /// Changing a record is a conflict if this does not see its newest state (first updater wins).
  versioning::ReadView read_view{};
  /// Recorded with the versions: the transaction's start (versioning/snapshots.h). The largest:
  /// unknown, and the leaf does not count as stable for any snapshot.
  Gsn start = versioning::kUnknownStart;
};

/// Without a log.
struct UnloggedWrites {
  versioning::Writer* claims = nullptr;  ///< null: no conflicts are checked
};

/// What logged changes need.
struct LoggedWrites {
  wal::TransactionLog& log;
  LargeValueOutcome& large_values;
  versioning::Pruner& pruner;
  SpaceReclaimer* reclaimer = nullptr;  ///< null: no space can be reclaimed
};

/// By a transaction, beside others.
struct TransactionWrites {
  struct Claims {
    versioning::Writer& writer;
    LeftVersions* versions = nullptr;  ///< null: none are left
  };

  LoggedWrites logged;
  std::optional<Claims> claims;          ///< nothing: no conflicts are checked
  versioning::ReadSet* reads = nullptr;  ///< not null: gets the records that a call reports on
};

/// By a transaction that has the trees to itself. It claims records only to keep what undo will
/// need, that is, the space of values that get shorter, and ghosts.
struct BulkWrites {
  LoggedWrites logged;
  versioning::Writer& claims;
  /// With an epoch: that of a bulk in place. It leaves virtual versions (virtual_version.h), and
  /// also changes records of which other transactions have versions.
  versioning::ReadView read_view{};
};

}  // namespace palimpsest::btree
