// The bulks whose changes not everybody sees alike: what a leaf's epoch means to a reader (I-9).
//
//   begin -> running -> committed(t) -> retired: everybody sees it
//                   \-> aborted      -> retired: nothing of it is left on any page
//
// A leaf names a bulk by its epoch, and its records say what that has changed
// (btree/node/virtual_version.h). The epoch of a bulk that is retired is not in here: so an epoch
// that is not in here means what the records say now. A bulk commits like any transaction, with a
// date that its commit status is given (commit_status.h): a reader's snapshot is one number for
// both.
//
// Who looks at a leaf reads epoch and flags, and asks here, under one latch or one validated
// optimistic read. Argument that he is told the truth, for an epoch e that he has read there:
//  - e is taken out after it has committed, at t: no snapshot is older than t by then (I-8), and
//    whether he finds e, or not any more, he sees the bulk.
//  - e is taken out after it was aborted: no leaf has the flags of e by then, and they went under
//    the leaf's exclusive latch. So whoever does not find e has read a leaf without flags of it, or
//    his optimistic read fails.
//  - e is entered before any leaf has it.
// Epochs are never used again, and places are: a reader looks at the epoch of the place again after
// it has read the commit status. If it has changed, e was taken out meanwhile.
//
// Places lie in segments. An epoch's place follows from its number alone, so a lookup is two loads
// however many bulks there are. A segment is made when all places of the others are taken, and
// stays until the end: a reader may use a segment without any latch. `next_free()` chooses epochs
// whose places lie in segments that exist, and leaves numbers out for that. A reader that has read
// e from a leaf finds e's segment: its pointer was stored before e was entered, e was entered
// before any leaf had it, and the reader has acquired the leaf. A segment that is missing therefore
// means that e is not in here. Segments, and what the ledger keeps of each bulk, count as memory of
// versions (entry_memory.h).
//
// Latching: mutex_ for entering, taking out, and the list of late versions; a latch per bulk that
//           has some, held across the latch of a leaf. Readers take none.
// Failure: begin() throws too_many_bulks, bad_alloc; LateVersions as VersionBuffer.
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

  /// `memory`: of versions. Outlives it.
  explicit BulkEpochs(EntryMemory& memory) noexcept : memory_(memory) {}
  BulkEpochs(const BulkEpochs&) = delete;
  BulkEpochs& operator=(const BulkEpochs&) = delete;
  ~BulkEpochs();

  /// Of the changes of an epoch that was read from a leaf. `read view`: null: the newest state that
  /// is committed. undecided: to be asked again, in a moment, with no latch held.
  [[nodiscard]] Visibility at(BulkEpoch epoch, const ReadView* read_view) const noexcept;
  /// Of a bulk that nobody commits or aborts meanwhile, or as a hint.
  [[nodiscard]] State state(BulkEpoch epoch) const noexcept;

  /// So many bulks at a time that are not retired.
  static constexpr std::size_t kPlacesMax = 16'384;
  /// The first epoch from `from` on that begin() has a place for; nothing if all are taken. As long
  /// as no other is entered.
  [[nodiscard]] std::optional<BulkEpoch> next_free(BulkEpoch from) const noexcept;
  /// A bulk runs. `epoch` was never used before. Its commit status, which is decided with its
  /// commit.
  [[nodiscard]] CommitStatus& begin(BulkEpoch epoch);
  /// A bulk of before the database was opened.
  void enter_aborted(BulkEpoch epoch) { begin(epoch).abort(); }
  /// Nothing of an aborted bulk is left on any page.
  void forget(BulkEpoch epoch) noexcept;
  /// Takes out those that all snapshots from `horizon` on see, but for one of which somebody is
  /// making a version late.
  void retire(Gsn horizon) noexcept;
  /// Whether there is any.
  [[nodiscard]] bool is_empty() const noexcept { return count() == 0; }
  /// How many are not retired.
  [[nodiscard]] std::size_t count() const noexcept {
    return entered_.load(std::memory_order_relaxed);
  }

  /// What was before a committed bulk of records that have been changed since: versions like all
  /// others, made late. They carry the bulk's date.
  class Late {
   public:
    /// Room for one. No latch is held.
    void prepare(std::size_t payload_bytes_max) { of_->versions->prepare(payload_bytes_max); }
    /// With the page's exclusive latch: `entry` has versions older than the bulk, or none.
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
    std::unique_lock<std::mutex> turn_;  ///< last: given back before what it lies in
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
  /// Null: its segment was never made.
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
