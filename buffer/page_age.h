// Ages: since when a page has been dirty, and what a checkpoint may conclude from it.
//
// The checkpointer begins an age each time it has taken a mark in the log and all records that
// count as before the mark are there. A page that becomes dirty keeps the age of that moment, its
// *since*, until it has been written; so a checkpoint can pass over pages that have been dirty for
// a short time only. This is the recLSN of ARIES (Mohan et al., TODS 1992) by interval instead of
// by position: 28 bits, which lie in the word of the frame's flags and change together with them in
// one step. Decision 025 says why pages are written so.
// The current age belongs to the pool (frame_table.h) and each frame points at it: databases of one
// process share nothing, and a guard needs no more than its frame.
//
// What a checkpoint may conclude. Take any record that was in the stream, or captured by a round,
// before unwritten_frames() was called, and the page it concerns. Once write() has returned for all
// frames that unwritten_frames() returned, and writer().harden() after that, the image on disk
// contains the record's change, unless the page was freed meanwhile. Because at the moment a frame
// is looked at, its page is one of these:
//  - latched exclusively: collected. The record was appended under that latch or an earlier one;
//  - not latched so, and changed since its last image: `dirty` was set before the latch was
//    released, so it is seen, or has gone over into `writing` (page_reclaimer.h (4)). Collected;
//  - changed and written since: by (4) the image holds the change. It is in place.
// A page in no frame, or being loaded, left memory clean (page_reclaimer.h (1)): its image is in
// place; if it comes into a frame that was looked at already, it brings no older change. A root is
// collected as any page. A new page becomes resident latched, before a record names it.
// When write() comes to a collected frame, either the frame still holds the page, and write()
// latches it shared and copies it if it is dirty, or the page was written and evicted. write()
// never meets `writing`: the thread that began that write had the page writer's mutex, and ended
// the write as clean or, failed, as `dirty` again before it released the mutex. If write() itself
// fails it throws, and the pages it has not written are dirty.
// A page that was freed is not written any more. Its image may lack changes from before the
// checkpoint, and recovery must not miss them: it redoes nothing of a page before the last record
// of the replayed log that frees the page or formats it.
//
// The same by age. Take any record that was in the stream, or captured by a round, before age n
// began. The conclusion holds for it if unwritten_frames() returns, at any time after that, only
// those of the frames above that are dirty, or in an image being written, since before n. (It also
// returns latched frames and the frames of this round of PagesByAge. The argument does not need
// them, so the page's id may be read without its latch for that.) Because
//  (1) modify() precedes the append of a record for the page, under the same latch (a debug check
//      of btree/write_context.h), and no copy is made between the two;
//  (2) a page that is dirty or being written has a since, and each change that its image in place
//      lacks was made in the age of that number or a later one.
// So the page of such a record is in place, or its since is before n: its modify() read the age, or
// met an earlier since, before the append, which happened before n began. A load cannot return a
// value that is stored later; that needs no ordering of the two by themselves. The interleavings:
//  - modify() reads the age just before n begins and marks its page after that: its since is n - 1,
//    though its record is behind the mark. The page is written an age too early; nothing is missed.
//    The opposite, reading n for a record before the mark, would take n to begin before that record
//    is appended.
//  - The page is changed again while a copy of it is being written: the older since stays, for the
//    write may fail, and then `dirty` is set again with all that the copy held. When the write
//    succeeds, the changes that the image lacks were made after the copy: the page's since becomes
//    the age that was read before the batch's first copy, so that a page that changes all the time
//    is not old all the time.
//  - The write fails: the page is dirty with its old since, in one step with the end of `writing`.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace palimpsest::buffer {

/// Number of an age, modulo 2^28. Two ages that are compared differ by less than half of that: a
/// page gets written, or its checkpoints fail and begin no ages.
class PageAge {
 public:
  static constexpr unsigned kBits = 28;

  constexpr PageAge() noexcept = default;
  constexpr explicit PageAge(std::uint32_t number) noexcept : number_(number & kMask) {}

  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] constexpr PageAge next() const noexcept { return PageAge(number_ + 1); }
  [[nodiscard]] constexpr bool is_before(PageAge other) const noexcept {
    return ((number_ - other.number_) & kMask) > kMask / 2;
  }
  [[nodiscard]] friend constexpr bool operator==(PageAge, PageAge) noexcept = default;

 private:
  static constexpr std::uint32_t kMask = (std::uint32_t{1} << kBits) - 1;

  std::uint32_t number_ = 0;
};

/// The pages that a checkpoint writes: those that have been dirty since before an age, and one in
/// `turns` of the rest, a different one each time. Pages that change all the time would otherwise
/// become old all at once, and be written in one checkpoint of several. Neighbours in the file have
/// the same turn: where all of them are dirty they are few writes.
struct PagesByAge {
  /// Pages that have the same turn. Fewer would be more writes; many more would put tables that
  /// change differently into different turns.
  static constexpr std::uint64_t kNeighbours = 32;

  PageAge before;
  std::uint32_t turn = 0;
  std::uint32_t turns = 0;  ///< 0: none of the rest

  [[nodiscard]] static constexpr PagesByAge all() noexcept {
    return {.before = {}, .turn = 0, .turns = 1};
  }

  [[nodiscard]] constexpr bool have(PageId page, PageAge since) const noexcept {
    return since.is_before(before) || (turns != 0 && turn_of(page) == turn);
  }
  /// Shifts by one after each round of turns. Tables that grow together take their pages in step;
  /// without the shift one of them would have few turns, with all its pages in them.
  [[nodiscard]] constexpr std::uint64_t turn_of(PageId page) const noexcept {
    const std::uint64_t block = raw(page) / kNeighbours;
    return (block + block / turns) % turns;
  }
};

}  // namespace palimpsest::buffer
