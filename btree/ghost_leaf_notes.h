// Reports the dead leaves that a walk of a tree met to the next writer of that tree.
//
// Why at the tree: the walk and the next write seldom belong to the same transaction or slot (a
// cursor outside transactions has a slot of its own), and some readers never write. One note is
// enough: walks meet the same leaves again until these are cleared.
// A note is a hint: the leaf of its key may hold records by the time the note is taken.
//
// Latching: a mutex of its own, only tried; note() may be called with a page latched. Failure:
//           none; without memory nothing is noted. Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace palimpsest::btree {

/// What a walk met.
struct GhostLeafNote {
  std::string key;           ///< of one of the dead leaves
  std::uint32_t leaves = 0;  ///< dead leaves that the walk passed
};

class GhostLeafNotes {
 public:
  void note(ByteView key, std::uint32_t leaves) noexcept;
  /// Whether take() is worth a call: one load of a value that seldom changes.
  [[nodiscard]] bool may_have() const noexcept { return has_note_.load(std::memory_order_relaxed); }
  /// Takes the note; it is forgotten.
  [[nodiscard]] std::optional<GhostLeafNote> take() noexcept;
  /// A seed that differs from walk to walk as long as walks leave notes.
  [[nodiscard]] std::uint64_t seed() const noexcept {
    return notes_.load(std::memory_order_relaxed);
  }

 private:
  std::mutex mutex_;
  GhostLeafNote note_;  ///< protected by mutex_
  std::atomic<bool> has_note_{false};
  std::atomic<std::uint64_t> notes_{0};
};

}  // namespace palimpsest::btree
