// The versions that a slot's transactions have made, in that order: those of committed transactions
// that a reader may still want to see, then those of the running one.
//
//   begin -> prepare, push ... -> announce, date, commit -> collect, when no snapshot needs them
//                              -> abort, of all or of the last ones
//
// Memory comes in chunks; a version is a few bytes behind the one before. Versions go from the
// front, in the order of the commits ("Scalable Garbage Collection for In-Memory MVCC Systems",
// Steam, 4.2). One in the middle that is not needed is dropped from its chain (prune.h); its memory
// goes with the front, or with its chunk when all versions in that were dropped: an old reader then
// keeps what it needs and little else.
//
// Access: the running transaction's versions belong to its owner alone. The committed ones lie
// under the buffer's latch, so that any thread can collect them, also those of an idle slot.
// Invariants: (1) a version of this buffer is in the chain of its entry from push() until abort(),
//                 abort_since(), drop() or collect();
//             (2) an entry with a chain is not freed, so a thread that holds the buffer's latch
//                 reaches the entry of each version that is not dropped, without any page;
//             (3) committed versions stand in the order of their timestamps.
// Latching: push() needs the exclusive latch of the record's page. commit(), visit_recent() and
//           collecting take the buffer's latch, then those of chains, one at a time; abort() and
//           abort_since() those of chains, and then the buffer's; collecting tries that of a page
//           before each (unchanged_page.h), and takes nothing else. A thread with a chain's latch
//           only tries the buffer's, as does collect_aside().
// Failure: prepare() throws and changes nothing; nothing else fails.
// Thread-safety: functions marked "Any thread"; the rest belongs to the slot's owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "base/turn_latch.h"
#include "versioning/commit_status.h"
#include "versioning/entry.h"
#include "versioning/entry_memory.h"
#include "versioning/ghost_hints.h"
#include "versioning/version.h"
#include "versioning/version_chunk.h"

namespace palimpsest::versioning {

class VersionBuffer;
class Writer;

/// Limits the memory of all versions.
class VersionBudget {
 public:
  virtual ~VersionBudget() = default;
  VersionBudget(const VersionBudget&) = delete;
  VersionBudget& operator=(const VersionBudget&) = delete;

  /// A transaction, with its owner's latch only, is about to take memory: makes room, or throws.
  virtual void require_room(const VersionBuffer& asking) = 0;

 protected:
  VersionBudget() = default;
};

class VersionBuffer {
 public:
  /// `memory` and `budget`, which may be null, outlive it.
  explicit VersionBuffer(EntryMemory& memory, VersionBudget* budget = nullptr) noexcept
      : memory_(memory), budget_(budget) {}
  VersionBuffer(const VersionBuffer&) = delete;
  VersionBuffer& operator=(const VersionBuffer&) = delete;
  /// It has no versions.
  ~VersionBuffer();

  // The running transaction

  /// That of the running transaction, or of the next one.
  [[nodiscard]] CommitStatus& commit_status() noexcept { return commit_status_; }
  [[nodiscard]] const CommitStatus& commit_status() const noexcept { return commit_status_; }
  /// Whether the running transaction has made any versions.
  [[nodiscard]] bool has_new() const noexcept { return new_count_ != 0; }
  /// Bytes of these versions, and of their entries, each counted once.
  [[nodiscard]] std::size_t new_bytes() const noexcept { return new_bytes_; }

  /// Makes room for one more version with such a payload. No latch is held. Throws std::bad_alloc,
  /// and what the budget throws.
  void prepare(std::size_t payload_bytes_max);
  /// Whether there is room for that without prepare().
  [[nodiscard]] bool has_room(std::size_t payload_bytes_max) const noexcept {
    return last_ != nullptr &&
           last_->capacity - last_->used >= Version::size_bytes(payload_bytes_max);
  }
  /// Saves the record before it is changed. fill(MutableBytes) writes the payload. Returns whether
  /// the chain has got long: two versions or more lie below it.
  template <class Fill>
  bool push(Entry& entry, VersionKind kind, std::uint16_t flags_before, std::size_t payload_bytes,
            Fill&& fill) noexcept {
    Version& version = append(entry, kind, flags_before, payload_bytes);
    fill(version.new_payload());
    return link(version);
  }

  /// The transaction has committed, as its commit status says: its versions get their date, and the
  /// next transaction the commit status.
  void commit(Gsn timestamp) noexcept;
  /// The transaction has aborted, as its commit status says, and its changes are undone: its
  /// versions go.
  void abort() noexcept;
  /// How much it has made so far.
  [[nodiscard]] VersionMark mark() const noexcept {
    return {{last_, last_ == nullptr ? 0 : last_->used}, new_count_, new_bytes_};
  }
  /// The transaction goes on, and its changes since `mark` are undone: their versions go.
  void abort_since(const VersionMark& mark) noexcept;

  // Versions of committed transactions

  /// Any thread; a hint for all but the owner: the oldest timestamp, or the largest GSN.
  [[nodiscard]] Gsn oldest() const noexcept { return oldest_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_old() const noexcept { return oldest() != kNone; }
  /// Any thread: frees versions that no snapshot from `horizon` on can tell from what follows,
  /// until is_enough().
  void collect(Gsn horizon, FunctionRef<bool()> is_enough = [] { return false; }) noexcept;
  /// Any thread, once the commit status is not deciding up to `upto`: calls visit(version),
  /// latched, for versions with dates in (after, upto] that were not dropped, until it returns
  /// false. Returns whether it never did.
  bool visit_dated(Gsn after, Gsn upto, FunctionRef<bool(const Version&)> visit) noexcept;
  /// Any thread, in the background: as collect(), until another thread wants the buffer. Returns
  /// whether all are gone.
  [[nodiscard]] bool collect_aside(Gsn horizon) noexcept;
  /// Owner, after a commit: as collect(), for a few versions, more than the transaction has made.
  /// So a backlog that a reader caused shrinks little by little. `into`: gets the entries for
  /// reuse; may be null.
  void collect_few(Gsn horizon, Writer* into = nullptr) noexcept;
  /// Owner: calls visit(version), with the buffer's latch, for versions of the last transactions
  /// that had an older one of their record; it returns whether it took the version out of its
  /// chain. Each is visited once, late enough that most readers that do not see it have ended,
  /// while it is in the cache.
  void visit_recent(FunctionRef<bool(Version&)> visit) noexcept;
  /// Whether visit_recent() may have any to visit.
  [[nodiscard]] bool may_have_recent() const noexcept { return visited_for_ != next_number_; }
  /// Owner: a key of this tree where there may be ghosts to purge, noted by collect(), or by
  /// folding up to the newest horizon that the owner or any thread knows: as long as no thread has
  /// to free memory of versions, only owners look for horizons.
  [[nodiscard]] std::optional<std::string> take_ghost_hint(TreeId tree) noexcept {
    if (!hints_.may_have(tree)) [[likely]] {
      return memory_.folded_ghost_hints().take(tree, std::max(memory_.horizon(), own_horizon_));
    }
    const std::lock_guard latch(latch_);
    return hints_.take(tree);
  }
  /// Any thread that holds the latch of the committed version's chain: the latch of its buffer,
  /// which it may only try.
  [[nodiscard]] static TurnLatch& latch_of(Version& version) noexcept;
  /// With both latches: the version has been taken out of its chain, and is not used any more.
  static void drop(Version& version) noexcept;

  /// With the chain's latch: takes the version out of the chain.
  static void take_out(Entry& entry, const Version& version) noexcept;
  /// With the chain's latch, or in no chain: frees the version's payload if it lies elsewhere.
  static void free_elsewhere(EntryMemory& memory, const Version& version) noexcept;

  /// Owner, between two transactions: frees empty chunks.
  void trim() noexcept;

  /// Any thread: memory, in whole chunks.
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return size_bytes_.load(std::memory_order_relaxed);
  }

 private:
  using Chunk = VersionChunk;
  using Place = VersionPlace;

  /// A chunk has room for this many versions of the largest size, and at least kChunkBytesMin. With
  /// small pages it is small, because one version that an old reader needs keeps it.
  static constexpr std::size_t kLargestPerChunk = 4;
#ifdef PALIMPSEST_DEBUG_CHECKS
  static constexpr std::size_t kChunkBytesMin = 512;  ///< so that tests cross chunks more often
#else
  static constexpr std::size_t kChunkBytesMin = 4096;
#endif
  static constexpr std::size_t kAtATime = 256;       ///< collected under the latch
  static constexpr std::uint32_t kChunksBehind = 2;  ///< of visit_recent(): some transactions
  static constexpr Gsn kNone{std::numeric_limits<std::uint64_t>::max()};

  [[nodiscard]] Version& append(Entry& entry, VersionKind kind, std::uint16_t flags_before,
                                std::size_t payload_bytes) noexcept;
  [[nodiscard]] bool link(Version& version) noexcept;
  void unlink(Version& version, Writer* into) noexcept;
  [[nodiscard]] static std::byte* bytes_of(Chunk* chunk) noexcept;
  [[nodiscard]] static Chunk* chunk_of(Version& version) noexcept;
  [[nodiscard]] static Version& at(const Place& place) noexcept;
  void add_chunk(std::size_t bytes);
  template <class Use>
  void for_each_new(Place from, std::size_t count, Use&& use) noexcept;
  [[nodiscard]] bool is_new_since(Place from, Version& version) const noexcept;
  void take_back(Place from, std::size_t count) noexcept;
  void end_transaction() noexcept;

  void rewind(Place to) noexcept;
  class LookAhead;
  [[nodiscard]] bool collect_some(Gsn horizon, std::size_t most, Writer* into = nullptr) noexcept;
  template <class GivesWay>
  [[nodiscard]] bool collect_latched(Gsn horizon, std::size_t most, Writer* into,
                                     GivesWay gives_way) noexcept;

  // latch_ held:
  [[nodiscard]] bool has_no_old() noexcept;
  [[nodiscard]] bool has_recent() const noexcept {
    return recent_ != new_first_.chunk &&
           new_first_.chunk->number - recent_->number >= kChunksBehind;
  }
  [[nodiscard]] Place first_above(Gsn date) noexcept;
  void free_if_dropped(Chunk* chunk) noexcept;
  void give_up(Chunk* chunk) noexcept;
  void free_chunk(Chunk* chunk) noexcept;

  EntryMemory& memory_;
  VersionBudget* budget_;
  CommitStatus commit_status_;

  // The owner's; new_first_ changes under latch_, and is where the committed ones end:
  Place new_first_;  ///< the first of the running transaction
  Chunk* last_ = nullptr;
  std::size_t new_count_ = 0;
  std::size_t new_bytes_ = 0;
  std::size_t last_count_ = 0;     ///< versions of the last transaction
  Gsn own_horizon_{0};             ///< of the last collect_few()
  std::uint32_t next_number_ = 0;  ///< of the next chunk
  std::uint32_t visited_for_ = 0;  ///< next_number_ when all recent ones had been visited

  TurnLatch latch_;
  Place first_;  ///< the oldest version; protected by latch_, as are chunks before new_first_'s
  /// Where visit_recent() goes on, between first_'s and new_first_'s; protected by latch_.
  Chunk* recent_ = nullptr;
  Chunk* spare_ = nullptr;           ///< protected by latch_
  GhostHints hints_;                 ///< protected by latch_, but for may_have()
  std::atomic<Gsn> oldest_{kNone};   ///< changed under latch_
  std::atomic<Gsn> newest_{Gsn{0}};  ///< date of the last commit; changed under latch_
  std::atomic<std::size_t> size_bytes_{0};
};

}  // namespace palimpsest::versioning
