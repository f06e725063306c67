// The bulks that are not retired: what a leaf's epoch means to a reader (I-9).
//
//   begin -> running -> committed(t) -> retired: every snapshot sees the bulk
//                   \-> aborted      -> retired: no page has anything of it left
//
// A leaf names a bulk by its epoch, and its records say what the bulk has changed
// (btree/node/virtual_version.h). The epoch of a retired bulk is not in this table: an epoch that
// is missing here means that the records are as they stand. A bulk commits like any transaction,
// with a date in its commit status (commit_status.h): a reader's snapshot is one number for both.
//
// A reader of a leaf reads epoch and flags, and calls at(), under one latch or one validated
// optimistic read. Argument that the answer is right, for an epoch e that it has read there:
//  - e is taken out after the bulk committed, at t: no snapshot is older than t by then (I-8), so
//    the reader sees the bulk whether it still finds e or not.
//  - e is taken out after the bulk aborted: no leaf has flags of e by then, and they were removed
//    under the leaf's exclusive latch. So a reader that does not find e has read a leaf without
//    flags of it, or its optimistic read fails.
//  - e is entered before any leaf has it.
// Epochs are never reused, but their places in the table are: a reader looks at the epoch of the
// place again after it has read the commit status. If it has changed, e was taken out meanwhile.
//
// Places lie in segments. An epoch's place follows from its number alone, so a lookup is two loads
// however many bulks there are. A segment is made when all places of the existing ones are taken,
// and stays until the end: a reader may use a segment without any latch. `next_free()` chooses
// epochs with places in existing segments, and skips numbers for that. A reader that has read e
// from a leaf finds e's segment: its pointer was stored before e was entered, e was entered before
// any leaf had it, and the reader has acquired the leaf. A missing segment therefore means that e
// is not in the table. Segments, and the ledger's data about each bulk, count as memory of versions
// (entry_memory.h).
//
// Latching: mutex_ for entering, taking out, and the list of late versions; a mutex per bulk that
//           has late versions, held across the latch of a leaf. Readers take none.
// Failure: begin() throws too_many_bulks, bad_alloc; Late as VersionBuffer.
// Thread-safety: all functions, from any thread.
// Source: Umbra-MVCC 3.2. There a snapshot is two numbers, read one after the other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "versioning/chain.h"
#include "versioning/commit_status.h"
#include "versioning/version_buffer.h"

namespace palimpsest::versioning {

class BulkEpochs {
 public:
  enum class State : std::uint8_t { retired = 0, running, committed, aborted };

  /// `memory`: of versions. Outlives this object.
  explicit BulkEpochs(EntryMemory& memory) noexcept : memory_(memory) {}
  BulkEpochs(const BulkEpochs&) = delete;
  BulkEpochs& operator=(const BulkEpochs&) = delete;
  ~BulkEpochs();

  /// Visibility of the changes of an epoch that was read from a leaf. `read_view`: null: for the
  /// newest committed state. undecided: the caller asks again in a moment; it may keep
  /// its page latched (decision 010).
  [[nodiscard]] Visibility at(BulkEpoch epoch, const ReadView* read_view) const noexcept;
  /// State of a bulk that no thread commits or aborts meanwhile; otherwise a hint.
  [[nodiscard]] State state(BulkEpoch epoch) const noexcept;

  /// The most bulks at a time that are not retired.
  static constexpr std::size_t kPlacesMax = 16'384;
  /// The first epoch from `from` on that begin() has a place for; nothing if all are taken. Valid
  /// until another one is entered.
  [[nodiscard]] std::optional<BulkEpoch> next_free(BulkEpoch from) const noexcept;
  /// Enters a running bulk; `epoch` was never used before. Returns its commit status, which is
  /// decided when the bulk commits or aborts.
  [[nodiscard]] CommitStatus& begin(BulkEpoch epoch);
  /// Enters a bulk from before the database was opened.
  void enter_aborted(BulkEpoch epoch) { begin(epoch).abort(); }
  /// Takes out an aborted bulk that has nothing left on any page.
  void forget(BulkEpoch epoch) noexcept;
  /// Takes out the bulks that all snapshots from `horizon` on see, except those for which a thread
  /// is making a late version.
  void retire(Gsn horizon) noexcept;
  /// Whether there is none.
  [[nodiscard]] bool is_empty() const noexcept { return count() == 0; }
  /// How many are not retired.
  [[nodiscard]] std::size_t count() const noexcept {
    return entered_.load(std::memory_order_relaxed);
  }

  /// Late versions of a committed bulk: when a record that the bulk changed is changed again, its
  /// state before the bulk becomes a version like any other, with the bulk's date.
  class Late {
   public:
    /// Reserves memory for one version. No latch is held.
    void prepare(std::size_t payload_bytes_max) { of_->versions->prepare(payload_bytes_max); }
    /// Called with the page's exclusive latch; any versions of `entry` are older than the bulk.
    template <class Fill>
    void push(Entry& entry, VersionKind kind, std::uint16_t flags_before, std::size_t payload_bytes,
              Fill&& fill) noexcept {
      static_cast<void>(of_->versions->push(entry, kind, flags_before, payload_bytes, fill));
      of_->versions->commit(date_);
    }

   private:
    friend class BulkEpochs;
    struct Versions {
      std::mutex turn;
      std::unique_ptr<VersionBuffer> versions;  ///< protected by turn; null if there are none yet
    };

    Late(std::shared_ptr<Versions> of, Gsn date, std::unique_lock<std::mutex> turn) noexcept
        : of_(std::move(of)), date_(date), turn_(std::move(turn)) {}

    std::shared_ptr<Versions> of_;
    Gsn date_;
    std::unique_lock<std::mutex> turn_;  ///< last: released before the object it lies in ends
  };
  /// Nothing if the bulk is not committed, or is retired. No latch is held.
  [[nodiscard]] std::optional<Late> late_versions(BulkEpoch epoch);

 private:
  struct Place {
    std::atomic<BulkEpoch> epoch{kNoEpoch};
    CommitStatus commit_status;
  };
  static constexpr std::size_t kSegmentPlaces = 256;
  static constexpr std::size_t kSegments = kPlacesMax / kSegmentPlaces;
  using Segment = std::array<Place, kSegmentPlaces>;
  static_assert(sizeof(Segment) == 4096);

  [[nodiscard]] static std::size_t segment_of(BulkEpoch epoch) noexcept {
    return raw(epoch) % kPlacesMax / kSegmentPlaces;
  }
  /// Null if its segment was never made.
  [[nodiscard]] Place* place_of(BulkEpoch epoch) const noexcept {
    Segment* const segment = segments_[segment_of(epoch)].load(std::memory_order_acquire);
    return segment == nullptr ? nullptr : &(*segment)[raw(epoch) % kSegmentPlaces];
  }
  // mutex_ held:
  [[nodiscard]] Place& make_place(BulkEpoch epoch);
  [[nodiscard]] bool give_back_late(BulkEpoch epoch, Gsn horizon) noexcept;
  void take_out(Place& place) noexcept;

  EntryMemory& memory_;
  mutable std::mutex mutex_;  ///< for entering and taking out
  std::atomic<std::size_t> entered_{0};
  std::array<std::atomic<Segment*>, kSegments> segments_{};  ///< changed under mutex_
  // Protected by mutex_:
  std::array<std::size_t, kSegments> taken_{};  ///< places of each segment
  std::map<BulkEpoch, std::shared_ptr<Late::Versions>> late_;
};

}  // namespace palimpsest::versioning
