// Epoch-based reclamation: when memory that optimistic readers may still see can be freed.
//
// Used for memory reached without a latch: mapping tables, entries, versions. Pages need none of
// it, because frames are never unmapped. An epoch's scope is one operation: an EpochGuard is
// entered when the operation meets such memory, after which it READS THE POINTER AGAIN, and left
// before any I/O or park. A participant outside a guard pins nothing, however old its transaction.
//
// Why not hazard pointers: a chain is followed over many nodes, each of which would need its own.
// Why not counting: readers would write to shared memory.
//
// Terms: the *global epoch* only grows. A participant inside a guard publishes the epoch it
// *entered*. Retired objects gather in batches; a closed batch carries as *tag* the global epoch at
// its closing. A batch may be freed once its tag is below *safe*, the minimum of the global epoch
// and of all epochs entered, as found by a scan.
//
//   enter  (E1) e = global   (E2) slot = e   (E3) fence   (E4) the reader loads pointers
//   retire (R1) unlink       (R2) fence      (R3) tag = global
//   scan   (S1) g = global   (S2) fence      (S3) load all slots   (S4) safe = min(g, slots)
//
// Invariants: (1) a retired object was unlinked before: no reader that starts later reaches it;
//             (2) a reader reaches only objects whose tag is at or above the epoch it entered;
//             (3) what a scan called safe is safe for ever and for all participants.
// Argument. All fences are sequentially consistent, so any two are ordered.
//  - (2): If R2 comes before E3, the reader's E4 sees the unlink. So a reader that reached the
//    object has E3 before R2, and R3, which comes after, reads no older epoch than E1 did: tag >=
//    e.
//  - A scan that sees the slot frees only tags below e: by (2) none that this reader reaches.
//  - A scan that does not see it (S3 reads the value before E2) has S2 before E3. It frees tags
//    below g. A retirer with tag < g has R2 before S2: were S2 before R2, R3 could not read an
//    epoch older than S1 did. So R2 before S2 before E3, and E4 sees the unlink.
//  - Leaving is a release store of "idle" that the scan acquires: the reader's last access to an
//    object happens before it is freed. safe is passed on by release and acquire, so that holds for
//    (3) too.
//  - A stale e in E1 (the global epoch has moved on) only pins more, so entering needs no loop.
//  - A scan reads the number of slots in use after S2; it was raised before the slot's first E3, so
//    the same two cases hold for it.
//
// Latching: none is taken; no function blocks. Deleters run inside retire() and reclaim(), where
// page latches may be held: they free memory and do nothing else. Failure: claim() and reserve()
// may throw std::bad_alloc and change nothing then. retire() allocates one batch in kBatchObjects
// calls unless reserve() was called before; running out there ends the program. ThreadSanitizer
// knows no fences: under PALIMPSEST_TSAN a read-modify-write stands for each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"

namespace palimpsest {

class EpochManager;

/// How to free a retired object. `context` must live as long as the EpochManager.
struct Deleter {
  void (*function)(void* object, void* context) noexcept = nullptr;
  void* context = nullptr;
};

/// The place of one thread of execution in an EpochManager. Claimed by who runs operations (a
/// worker slot, a background thread), used by one thread at a time. What it has retired and not
/// freed stays in its slot when it ends and is freed by a later owner, reclaim_abandoned() or
/// ~EpochManager.
class EpochParticipant {
 public:
  /// Objects in a full batch: how many retirements share one tag, one fence and one scan.
  static constexpr std::size_t kBatchObjects = 64;

  EpochParticipant(EpochParticipant&& other) noexcept;
  EpochParticipant& operator=(EpochParticipant&&) = delete;
  ~EpochParticipant();

  /// Frees `object` by `deleter` once no reader can see it. The caller has unlinked it.
  void retire(void* object, Deleter deleter) noexcept;

  /// The same by `delete`.
  template <class T>
  void retire(T* object) noexcept {
    retire(object, Deleter{[](void* retired, void*) noexcept { delete static_cast<T*>(retired); }});
  }

  /// Sets memory aside: the next `objects_count` retirements allocate nothing.
  void reserve(std::size_t objects_count);

  /// Closes the open batch and frees what is safe; returns how many objects were freed. Inside a
  /// guard, what was retired since entering it stays.
  std::size_t reclaim() noexcept;

  /// Objects retired and not yet freed.
  [[nodiscard]] std::size_t pending_count() const noexcept;

 private:
  friend class EpochManager;
  friend class EpochGuard;
  struct Slot;

  EpochParticipant(EpochManager& manager, Slot& slot) noexcept;

  void enter() noexcept {
    PALIMPSEST_DEBUG_CHECK(entered_->load(std::memory_order_relaxed) == kIdle,
                           "epoch guards nested");
    const std::uint64_t epoch = global_->load(std::memory_order_relaxed);  // E1
#ifdef PALIMPSEST_TSAN
    entered_->exchange(epoch, std::memory_order_seq_cst);  // E2, E3
#else
    entered_->store(epoch, std::memory_order_release);    // E2
    std::atomic_thread_fence(std::memory_order_seq_cst);  // E3
#endif
  }

  void leave() noexcept { entered_->store(kIdle, std::memory_order_release); }

  static constexpr std::uint64_t kIdle = 0;

  const std::atomic<std::uint64_t>* global_;  ///< the manager's
  std::atomic<std::uint64_t>* entered_;       ///< the slot's
  EpochManager* manager_;
  Slot* slot_;  ///< null once moved from
};

/// One set of participants that protect each other. Several may exist; nothing is global.
class EpochManager {
 public:
  /// At most `participants_max` participants at a time; slots are allocated kChunkSlots at a time,
  /// as they are first needed.
  explicit EpochManager(std::size_t participants_max);
  EpochManager(const EpochManager&) = delete;
  EpochManager& operator=(const EpochManager&) = delete;
  /// Frees everything retired. All participants have ended.
  ~EpochManager();

  /// A participant, or nothing while `participants_max` are claimed. Thread-safe.
  [[nodiscard]] std::optional<EpochParticipant> claim();

  /// Frees what ended participants left behind, as far as it is safe; returns how many objects.
  /// Thread-safe; for threads under memory pressure.
  std::size_t reclaim_abandoned() noexcept;

  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return global_.load(std::memory_order_relaxed);
  }

 private:
  friend class EpochParticipant;
  static constexpr std::size_t kChunkSlots = 32;
  struct Chunk;

  Chunk& chunk(std::size_t index);
  EpochParticipant::Slot& slot(std::size_t index) const noexcept;
  void raise_used(std::size_t count) noexcept;
  void full_fence() noexcept;
  void close_batch(EpochParticipant::Slot& slot) noexcept;
  std::uint64_t scan() noexcept;
  std::size_t reclaim(EpochParticipant::Slot& slot) noexcept;

  alignas(64) std::atomic<std::uint64_t> global_{1};  ///< 0 in a slot means idle
  alignas(64) std::atomic<std::uint64_t> safe_{1};    ///< all tags below may be freed
  std::atomic<std::size_t> used_count_{0};  ///< slots [0, n) have been claimed at some time
  std::size_t participants_max_;
  std::vector<std::atomic<Chunk*>> chunks_;  ///< owned; allocated from the front
};

/// Protects what the participant reads for one operation. Not nested.
class [[nodiscard]] EpochGuard {
 public:
  explicit EpochGuard(EpochParticipant& participant) noexcept : participant_(participant) {
    participant_.enter();
  }
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;
  ~EpochGuard() { participant_.leave(); }

 private:
  EpochParticipant& participant_;
};

}  // namespace palimpsest
