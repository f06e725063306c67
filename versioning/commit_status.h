// A transaction's commit status: the one word that all its versions point at until they carry its
// date.
//
//   active -> announced -> dated(t) -> committed(t)
//       \__________________________\-> aborted
//
// A commit announces itself before it draws its timestamp t, publishes t, appends its commit
// record, and is committed in one store (I-7: a reader sees all of its changes or none). Readers
// judge by the word:
//
//   word            a reader of snapshot s
//   active          does not see the change
//   announced       cannot know yet: t may come to be at or below s
//   dated(t)        does not see it if s < t; cannot know yet otherwise
//   committed(t)    sees it if t <= s
//   aborted         does not see it
//
// Argument that no reader misses a commit. The reader's snapshot s is a reading of the clock; t was
// drawn by an addition to the clock.
//  - t <= s: the reading came after the addition, and acquired it. So it also acquired the
//    announcement, which was stored before the addition: the reader finds announced or later, and
//    never concludes from `active`.
//  - t > s: no word says that the reader sees the change.
// So all readers of one snapshot, at any time, decide alike, or wait.
// Between announcement and decision the committer takes no latch, does no I/O and allocates
// nothing: a thread that waits for it, latches held or not, waits for a few instructions.
// Exception: a serializable committer, once it is dated, looks at the versions that other
// transactions have left (txn/validation.h).
//
// Lifetime: the next transaction reuses the word when no version points at it any more. Versions of
// an aborted transaction have been unlinked, each under the latch of its chain, which a reader
// holds. Versions of a committed transaction have been dated, without that latch: a reader that has
// followed a version's pointer looks at the pointer again (Version::at()). If it still stands, the
// version was not dated yet, so the word was not reused yet: begin() is a release behind all dates.
// Thread-safety: const functions, from any thread; the rest, by the owner.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"

namespace palimpsest::versioning {

/// How a change looks to a snapshot.
enum class Visibility : std::uint8_t {
  visible = 1,
  invisible,
  undecided,  ///< announced, not decided: the caller asks again in a moment (chain.h)
};

class CommitStatus {
 public:
  CommitStatus() = default;
  CommitStatus(const CommitStatus&) = delete;
  CommitStatus& operator=(const CommitStatus&) = delete;

  /// Resets the word for the next transaction. No version points at it.
  void begin() noexcept { word_.store(word_of(State::active), std::memory_order_release); }

  // active -> announced -> dated -> committed

  /// Called before the timestamp is drawn.
  void announce() noexcept {
    PALIMPSEST_DEBUG_CHECK(state() == State::active, "an active transaction announces its commit");
    word_.store(word_of(State::announced));
  }
  void date(Gsn timestamp) noexcept {
    PALIMPSEST_DEBUG_CHECK(state() == State::announced, "a commit is announced before it is dated");
    word_.store(word_of(State::dated, timestamp), std::memory_order_release);
  }
  /// Called once the commit record is in the log.
  void commit() noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    PALIMPSEST_DEBUG_CHECK(state() == State::dated, "only a dated transaction commits");
    word_.store((word & ~kStateMask) | static_cast<std::uint64_t>(State::committed),
                std::memory_order_release);
  }
  /// Called before any change is undone; not after commit().
  void abort() noexcept {
    PALIMPSEST_DEBUG_CHECK(state() != State::committed, "a committed transaction stays committed");
    word_.store(word_of(State::aborted), std::memory_order_release);
  }

  /// Whether the transaction may still get a date up to `date`, a reading of the clock, or has one
  /// that its versions may not carry yet: a thread that looks for them asks again in a moment. If
  /// false, every later commit here has a larger date.
  [[nodiscard]] bool is_deciding(Gsn date) const noexcept {
    const std::uint64_t word = word_.load();
    switch (State{static_cast<std::uint8_t>(word & kStateMask)}) {
      case State::active:
      case State::aborted: return false;
      case State::announced: return true;
      case State::dated:
      case State::committed: break;
    }
    return (word >> kStateBits) <= raw(date);
  }
  /// Both acquire: a read after either call sees state at least as new as the answer.
  [[nodiscard]] bool is_committed() const noexcept { return state() == State::committed; }
  [[nodiscard]] bool is_aborted() const noexcept { return state() == State::aborted; }
  /// Of a transaction that is dated.
  [[nodiscard]] Gsn timestamp() const noexcept {
    return Gsn{word_.load(std::memory_order_acquire) >> kStateBits};
  }
  /// Visibility of the changes that point at this word, to readers other than the owner.
  [[nodiscard]] Visibility at(Gsn snapshot) const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    const bool is_before = (word >> kStateBits) <= raw(snapshot);
    switch (State{static_cast<std::uint8_t>(word & kStateMask)}) {
      case State::active:
      case State::aborted: return Visibility::invisible;
      case State::announced: return Visibility::undecided;
      case State::dated: return is_before ? Visibility::undecided : Visibility::invisible;
      case State::committed: break;
    }
    return is_before ? Visibility::visible : Visibility::invisible;
  }

 private:
  enum class State : std::uint8_t { active = 0, announced, dated, committed, aborted };
  static constexpr unsigned kStateBits = 3;
  static constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

  [[nodiscard]] static constexpr std::uint64_t word_of(State state, Gsn timestamp = {}) noexcept {
    return raw(timestamp) << kStateBits | static_cast<std::uint64_t>(state);
  }
  [[nodiscard]] State state() const noexcept {
    return State{static_cast<std::uint8_t>(word_.load(std::memory_order_acquire) & kStateMask)};
  }

  std::atomic<std::uint64_t> word_{0};
};

}  // namespace palimpsest::versioning
