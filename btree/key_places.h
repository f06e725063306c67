// Finds where several keys of a tree lie, together, so that the cache misses or disk reads of one
// key overlap with the searches for the other keys.
// A search for one key waits first for the leaf's cache lines, then for the record's; consecutive
// searches wait that often each. Here each step is taken for all keys before the next step, and
// prefetches what that reads: lower inner nodes, edges to leaves, the leaves, their slots, the
// records; for writers also the path to the records' entries in the leaves' mapping tables
// (Psaropoulos et al., VLDB 2017; decisions 019, 022 and 024). A key that directly follows the key
// before it is looked for in the next slot, and otherwise only in that leaf.
//
// A place is a frame, a latch version and a slot, and holds no latch. Its user requests the leaf at
// that version, and searches again if the version has changed. With the leaf latched exclusively at
// that version, all its places may be used, one after the other, as long as no slot moves: values
// that change in place, claims and their marks move none.
// Latching: called with no latch. A leaf with a mapping table is latched shared for a moment, by
//           trying, so that the table is not replaced meanwhile. A walk to a leaf's edge may wait
//           for latches of inner nodes, as any does. Does I/O: the walk brings inner nodes in, one
//           by one; leaves that are not resident are read, all in one batch, but not searched.
// Failure: a key that cannot be found at once, or whose leaf is not resident, has no known place,
//          and is left to the ordinary search; so is a leaf that cannot be read. Throws
//          std::bad_alloc, and what the pool throws when an inner node has to be brought in.
// Thread-safety: from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/descent.h"
#include "btree/node/node_view.h"

namespace palimpsest::btree {

/// The slot of a key, or where it would be inserted, while its leaf has this version.
struct KeyPlace {
  FrameIndex frame = kNoFrame;
  std::uint64_t version = 0;
  SearchResult at{};

  [[nodiscard]] bool is_known() const noexcept { return frame != kNoFrame; }
  [[nodiscard]] bool is_beside(const KeyPlace& other) const noexcept {
    return frame == other.frame && version == other.version;
  }
};

/// Most keys that are searched together: about as many as the cache lines that a processor can wait
/// for at once.
inline constexpr std::size_t kKeysTogether = 16;

/// Keys that were searched together, or the last of them, and their places.
struct KeysFound {
  std::span<const ByteView> keys;
  std::span<const KeyPlace> places;
};

/// The purpose of the search. A writer needs the records' entries in the leaves' mapping tables, a
/// reader mostly needs none. A read copies the records; a visit looks at some bytes of each.
enum class Purpose : std::uint8_t { read = 1, visit, write };

/// Finds the places of at most kKeysTogether keys; `places` has as many.
void find_places(const Descent& descent, std::span<const ByteView> keys, std::span<KeyPlace> places,
                 Purpose purpose);

}  // namespace palimpsest::btree
