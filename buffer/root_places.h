// The slots ("places") of tree roots: pages in memory only; their swips name the root pages.
//
// Why: a root is a page like any other. Below a page of slots it is loaded on demand, visited by
//      the hand, and evicted, by the rules of every child (page_loader.h, page_reclaimer.h), and
//      the number of trees is not bounded by the number of frames. A tree keeps its slot, which
//      never moves, and so reads the swip itself: a root in memory is reached without a look at the
//      page of slots.
//
// A walk begins like this (TreeRoot::descend()): read the swip, which names frame F; take F's latch
// version v; read the swip again. If it still names F, the root was in F at a moment after v was
// taken. Taking a page out of its frame, and bringing another one in, raises the version, so a
// thread that validates v later has read the root, and nothing else.
//
//   between the two looks                         the second look   then
//   nothing                                       F                 v counts
//   the root is evicted from F                    its page id       restart
//   evicted before v was taken, F another page's  its page id       restart
//   the same, and back in F after v was taken     F                 v was another page's: it was
//                                                                   raised since; the walk restarts
//   evicted, and back in another frame            that frame        restart
//
// The second look comes after v was taken (an acquire load); eviction sets the swip, then raises
// the version (a release): v as it was raised comes with the swip as it was set.
//
// In memory (offsets in bytes): a page header, all zeros but for its type, which no page on disk
// has; then slots of 16 bytes each; a vacant slot is all zeros:
//    0  8  swip of the root    8  4  tree id    12  4  zero
//
// Invariants: (1) a page of slots is never dirty, never written and never evicted;
//             (2) a slot belongs to one tree from take() to give(), and names its root's page or
//                 frame.
// Latching: page latches, a page of slots before the roots below it; mutex_ over the lists. Under
//           mutex_ a free frame is taken and latched, which no other thread uses. None is held
//           during I/O.
// Thread-safety: all functions, from any thread; a slot is given back once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "buffer/page_guard.h"
#include "buffer/page_kind.h"
#include "buffer/page_kinds.h"
#include "buffer/swip.h"

namespace palimpsest::buffer {

/// The slot of one tree's root.
struct RootPlace {
  FrameIndex frame = kNoFrame;        ///< of the page of slots
  const std::byte* places = nullptr;  ///< that page
  std::uint32_t offset = 0;           ///< of the root's swip in it

  [[nodiscard]] Swip swip() const noexcept { return load_swip(places, offset); }
  /// The tree of the root that the slot at `offset` of a page of slots names. [optimistic]
  [[nodiscard]] static TreeId tree_at(ConstBytes places, std::uint32_t offset) noexcept;
};

/// What the pool asks about pages of slots.
class RootPlacesKind final : public PageKind {
 public:
  /// `kinds`: of the roots; it outlives this.
  explicit RootPlacesKind(const PageKinds& kinds) noexcept : kinds_(kinds) {}

  [[nodiscard]] bool has_swips(PageType) const noexcept override { return true; }
  void visit_swips(ConstBytes page, FunctionRef<void(std::uint32_t)> visit) const override;
  [[nodiscard]] std::optional<std::string> validate_root(ConstBytes page,
                                                         TreeId tree) const override;
  [[nodiscard]] std::optional<std::string> validate(ConstBytes page) const override;
  [[nodiscard]] std::optional<std::string> validate_child(ConstBytes parent,
                                                          std::uint32_t swip_offset,
                                                          ConstBytes child) const override;
  void clean_image(MutableBytes copy) const noexcept override;
  void mark_attached(MutableBytes page, const Attached& attached) const noexcept override;

 private:
  const PageKinds& kinds_;
};

class RootPlaces {
 public:
  /// Both outlive this object.
  RootPlaces(FrameTable& frames, FreeFrames& free_frames) noexcept
      : frames_(frames), free_frames_(free_frames) {}
  RootPlaces(const RootPlaces&) = delete;
  RootPlaces& operator=(const RootPlaces&) = delete;
  ~RootPlaces() = default;

  /// How many slots there can be, if everything else keeps half of the frames.
  [[nodiscard]] std::uint64_t most() const noexcept;
  /// How many slots are taken.
  [[nodiscard]] std::uint64_t taken() const;

  /// A slot for a root that is not in memory; nothing if that needs a frame, and none is free.
  [[nodiscard]] std::optional<RootPlace> take(PageId root, TreeId tree);
  /// Latches the page of a slot, to name the root's frame there, or to give the slot back.
  [[nodiscard]] ExclusivePage latch(const RootPlace& place) noexcept;
  /// The root has been brought into this frame. `places`: as latch() returned it.
  void set(const ExclusivePage& places, const RootPlace& place, FrameIndex root) noexcept;
  /// The tree is gone. Its root is in memory, latched, and is about to be freed.
  void give(ExclusivePage places, const RootPlace& place) noexcept;

 private:
  struct Vacant {
    FrameIndex frame;
    std::uint32_t offset;
  };

  [[nodiscard]] bool add_page();

  FrameTable& frames_;
  FreeFrames& free_frames_;
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::vector<Vacant> vacant_;  ///< has capacity for all slots
  std::uint64_t places_ = 0;
};

}  // namespace palimpsest::buffer
