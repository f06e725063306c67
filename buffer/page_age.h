// Ages: since when a page has been dirty, and what a checkpoint may conclude from it.
//
// Whoever makes checkpoints begins an age each time it has taken a mark in the log and all records
// that count as before the mark are there. A page that becomes dirty keeps the age it was then, its
// *since*, until it has been written; so a checkpoint can pass over what has been dirty for a short
// time only. That is the recLSN of ARIES (Mohan et al., TODS 1992) by the stretch instead of by the
// position: 28 bits, which lie in the word of the frame's flags and change together with them in
// one step. Why pages are written so: decision 025.
// The number of the age is the pool's (frame_table.h), each frame points at it: databases of one
// process share nothing, and a guard needs no more than its frame.
//
// What a checkpoint may conclude. Every record that was in the stream, or captured by a round,
// before unwritten_frames() was called, concerns a page of which this holds: once write() has
// returned for all frames it returned, and writer().harden() after that, the image on disk contains
// the record's change, unless the page was given back meanwhile. Because at the moment a frame is
// looked at, its page
//  - is latched exclusively: collected. The record was appended under that latch or an earlier one;
//  - is not latched so, and was changed since its last image: `dirty` was set before the latch was
//    given up, so it is seen, or has gone over into `writing` (page_reclaimer.h (4)). Collected;
//  - was changed and written since: by (4) the image holds the change. It is in place.
// A page in no frame, or being loaded, left memory clean (page_reclaimer.h (1)): its image is in
// place; if it comes into a frame that was looked at already, it brings no older change. A root is
// collected as any page. A new page becomes resident latched, before a record names it.
// A frame collected is still the page's when write() comes, latches it shared, and copies it if it
// is dirty; or else the page was written and evicted. `writing` is not met there: who began that
// has had the turn, and ended it as `clean` or, failed, as `dirty` again before the turn went on.
// If write() itself fails it throws, and what it has not written is dirty.
// A page that is given back is not written any more. If its image lacks changes from before the
// checkpoint, recovery must not miss them: it redoes nothing of a page before the last record of
// the replayed log that gives the page back or formats it.
//
// The same by age, of every record that was in the stream, or captured by a round, before age n
// began, and of what unwritten_frames() returns for n at any time after that: those of the frames
// above that are dirty, or in an image being written, since before n. (And those latched, and those
// whose turn it is: not needed, so that the page's number may be read without its latch for that.)
// Because
//  (1) modify() precedes the append of a record for the page, under the same latch (a debug check
//      of btree/write_context.h), and no copy is made between the two;
//  (2) a page that is dirty or being written has a since, and each change that its image in place
//      lacks was made in the age of that number or a later one.
// So the page of such a record is in place, or its since is before n: its modify() read the age, or
// met an earlier since, before the append, which happened before n began. What is read cannot be
// what is stored later; that takes no ordering of the two by themselves. The interleavings:
//  - modify() reads the age just before n begins and marks its page after that: its since is n - 1,
//    though its record is behind the mark. The page is written an age too early; nothing is missed.
//    That n is read for a record before the mark would take n to begin before that is appended.
//  - The page is changed again while a copy of it is being written: the older since stays, for the
//    write may fail, and then `dirty` is set again with all that the copy held. When the write
//    succeeds, what the image lacks was changed after the copy: the page's since becomes the age
//    that was read before the batch's first copy, so that a page that is changed all the time is
//    not old all the time.
//  - The write fails: the page is dirty with its old since, in one step with the end of `writing`.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace palimpsest::buffer {

/// Number of an age, modulo 2^28. Of two that are compared neither is as many as half of that older
/// than the other: a page is written, or its checkpoints fail and begin no ages.
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

/// The pages that a checkpoint writes: those that have been dirty since before an age, and of the
/// others one in so many, others each time. Pages that are always changed would else become old all
/// at once, and be written in one checkpoint of several; so each has its turn, together with its
/// neighbours in the file: where all of them are dirty they are few writes.
struct PagesByAge {
  /// Pages that have their turns together: fewer would be more writes, and many more would put
  /// tables that are changed differently into different turns.
  static constexpr std::uint64_t kNeighbours = 32;

  PageAge before;
  std::uint32_t turn = 0;
  std::uint32_t turns = 0;  ///< 0: none of the others

  [[nodiscard]] static constexpr PagesByAge all() noexcept {
    return {.before = {}, .turn = 0, .turns = 1};
  }

  [[nodiscard]] constexpr bool have(PageId page, PageAge since) const noexcept {
    return since.is_before(before) || (turns != 0 && turn_of(page) == turn);
  }
  /// A step more after each round of turns: tables that grow together take their pages in step, and
  /// one of them would have few turns, with all its pages.
  [[nodiscard]] constexpr std::uint64_t turn_of(PageId page) const noexcept {
    const std::uint64_t block = raw(page) / kNeighbours;
    return (block + block / turns) % turns;
  }
};

}  // namespace palimpsest::buffer
