// Pruning a chain in the middle. With an old reader, records that change all the time would keep a
// version for every change, though no snapshot sees the states in between ("Scalable Garbage
// Collection for In-Memory MVCC Systems", Steam, 4.3).
//
// Two neighbours, the newer of t2 and the older of t1, can become one if no snapshot lies in [t1,
// t2): a reader that sees the older change sees the newer one, too. The older version stays, with
// its date, and says what both have said; for bytes that both have, what the older one says.
//
//   a reader of snapshot s     before                        after
//   s < t1                     takes both back               takes back what both say
//   t1 <= s < t2               there is none, and will be none
//   t2 <= s                    takes none of them back       takes none of them back
//
// Argument that there will be none: the scan read the clock, c >= t2, before it looked at the
// snapshots (I-8). A snapshot taken later is at least c; one being taken is at least its lower
// bound, which counts as every snapshot from there on.
// Versions that every snapshot sees go, too, as their owners would take them out.
// A ghost with one version, which says that there was no record before, needs no version: for
// example a row that was put into a queue and taken out of it while an old reader looks on. But a
// transaction that may still write, with a snapshot in between, has to meet a conflict: so only
// snapshots of readers may be older.
//
// Versions that say nothing but "not there before" or "there before" are folded into the spans of
// their leaf (spans.h), where no snapshot lies between: the same argument, for [t1, t2) from the
// oldest date of a span to the youngest. No conflict and no validation meets a folded version any
// more: so here, too, only snapshots of readers may be older.
//
// Which thread prunes: one that adds a third version to a chain or wants to purge a ghost. Before
// it comes to that, a slot's owner merges the versions that it has just left (merge_recent): they
// are still in its cache, as are the older ones of their records, which it looked at when it made
// the change (decision 026). A record that changes time and again beside an old reader then has one
// version between two changes.
//
// Latching: prune() with the page held exclusively, the chain's latch within; buffers' latches are
//           only tried, and a version of a buffer in use stays. merge_recent() with no latch: it
//           takes that of its own buffer, and under it those of chains, as a collecting thread
//           does. It needs no page: an entry exists as long as it has a version of a buffer that is
//           held, and of two that are merged one stays in the chain. A thread that holds the page
//           meanwhile finds, before and after, a chain that says the same to each snapshot in use.
// Failure: none; without memory everything stays.
// Thread-safety: a pruner belongs to one transaction.
#pragma once

#include <cstdint>
#include <optional>

#include "versioning/entry.h"
#include "versioning/entry_memory.h"
#include "versioning/snapshots.h"
#include "versioning/spans.h"
#include "versioning/version.h"

namespace palimpsest::versioning {

class VersionBuffer;

class Pruner {
 public:
  /// Both outlive it.
  Pruner(const Snapshots& snapshots, EntryMemory& memory) noexcept
      : snapshots_(snapshots), memory_(memory) {}

  /// Begins another transaction: looks at the snapshots in use again, when it needs them.
  void begin() noexcept { has_scan_ = false; }
  /// Begins a transaction that changes what no snapshot reads, nor will, whatever is in use.
  void begin_unseen() noexcept;

  /// What the page holds.
  enum class Newest : std::uint8_t {
    record = 1,
    nothing,  ///< a ghost
  };
  /// Takes versions out of the chain that no snapshot needs.
  void prune(Entry& entry, Newest newest) noexcept;

  /// Folds the oldest versions of a chain into the spans of its leaf, as many as can go. `mark`:
  /// the record's. Returns the mark that the record gets, if it has none and gets one. The caller
  /// holds the leaf, and sets the mark before it releases it.
  [[nodiscard]] std::optional<SpanKind> fold(Entry& entry, std::optional<SpanKind> mark,
                                             Spans& spans) noexcept;
  /// Whether the two spans can be joined: no snapshot sees only a part of the result.
  [[nodiscard]] bool can_join(const Span& one, const Span& other) noexcept;
  /// Every snapshot is at or above this; 0 if that cannot be said.
  [[nodiscard]] Gsn seen_by_all() noexcept;

  /// Called by the owner of `buffer`, between two transactions: merges the versions that its last
  /// transactions have left into the next older version of the record, where no snapshot can tell
  /// the two apart.
  void merge_recent(VersionBuffer& buffer) noexcept;

 private:
  [[nodiscard]] bool scan() noexcept;
  [[nodiscard]] bool no_snapshot_between(Gsn from, Gsn to) const noexcept;
  [[nodiscard]] bool merge(const Version& newer, Version& older) noexcept;
  [[nodiscard]] bool try_take_out(Entry& entry, Version* younger, Version& version,
                                  Version* merged) noexcept;
  void prune_oldest(Entry& entry) noexcept;
  void prune_between(Entry& entry) noexcept;
  void prune_last(Entry& entry) noexcept;
  [[nodiscard]] bool may_fold(const Version& version, const Span& into) const noexcept;
  [[nodiscard]] bool try_merge_down(Version& version) noexcept;

  const Snapshots& snapshots_;
  EntryMemory& memory_;
  Snapshots::Scan scan_;
  bool has_scan_ = false;
};

}  // namespace palimpsest::versioning
