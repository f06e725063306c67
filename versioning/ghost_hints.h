// Ghost hints: keys of removed records with ghosts that can be purged, in leaves that may be full
// of them and that no transaction writes to again.
//
// A transaction that removes a record purges its leaf now and then, of the ghosts that are not
// needed at that time. With an old reader that is none, and later no writer comes back. For
// example, the front of a queue moves on, leaves full of ghosts stay behind, and each search for
// the front has to cross them. So the thread that collects the version of a removal notes the key,
// and the owner of the slot purges that leaf when it writes to that tree again.
// Folded removals have ghost hints of their own (folded_ghost_hints.h). Scans meet the ghosts that
// both miss (btree/ghost_leaf_notes.h).
// These are hints: a ghost may be gone, be a record again, or never be noted. One removal in eight
// is noted, because a leaf worth purging has many, and each removal of a value that keeps pages of
// its own; in a full place a new hint replaces an old one.
//
// Thread-safety: note() and take() under the latch of the slot's version buffer; may_have(), any
//                thread. Failure: none; without memory nothing is noted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "versioning/entry.h"

namespace palimpsest::versioning {

class GhostHints {
 public:
  /// Called when the version of a change that may have been a removal is collected.
  void note(const Entry& entry, bool keeps_pages) noexcept {
    if (keeps_pages || entry.hash() % kOneIn == 0) {
      add(entry);
    }
  }

  /// Whether take() is worth a latch.
  [[nodiscard]] bool may_have(TreeId tree) const noexcept {
    return counts_[place_of(tree)].load(std::memory_order_relaxed) != 0;
  }
  /// Takes out one hint of this tree: a key.
  [[nodiscard]] std::optional<std::string> take(TreeId tree) noexcept;

 private:
  struct Hint {
    TreeId tree;
    std::string key;
  };

  static constexpr std::size_t kOneIn = 8;
  static constexpr std::size_t kPlaces = 16;
  static constexpr std::size_t kHintsMax = 512;  ///< for each place
  static constexpr std::size_t kKeyBytesMax = 256;

  [[nodiscard]] static std::size_t place_of(TreeId tree) noexcept { return raw(tree) % kPlaces; }
  void add(const Entry& entry) noexcept;

  std::array<std::vector<Hint>, kPlaces> hints_;
  std::array<std::atomic<std::uint16_t>, kPlaces> counts_{};  ///< hints_[].size()
  std::size_t turn_ = 0;
};

}  // namespace palimpsest::versioning
