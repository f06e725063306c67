// Where several keys of a tree lie, found together: what the processor, or the disk, has to bring
// in for one of them comes while the others are looked for.
//
// A search of one key waits for the leaf's lines, then for the record's; keys that are searched one
// after the other wait as often each. Here each step is taken for all keys before the next one, and
// asks the processor for what that reads: lower inner nodes, edges to leaves, the leaves, the slots
// in these, the records; for who writes also what leads to the records' entries in the leaves'
// mapping tables (Psaropoulos et al., VLDB 2017; decisions 019, 022 and 024). A key that is the
// next one after that before it is looked for in the next slot, and else in that one's leaf only.
//
// A place is remembered by its leaf's frame and latch version, and so holds no latch: whoever uses
// it asks for the leaf at that version, and searches again if that has passed. Who has latched the
// leaf exclusively at that version may use all places of it, one after the other, as long as no
// slot moves: values that change in place, claims and their marks move none.
// Latching: called with no latch. A leaf with a mapping table is latched shared for a moment, by
//           trying, so that the table is not replaced meanwhile. A walk to a leaf's edge may wait
//           for latches of inner nodes, as any does. Does I/O: such a walk brings inner nodes in,
//           one by one; leaves that are not resident are read, all of them in one batch, and not
//           looked at.
// Failure: what cannot be found at once, or is not resident, is not known: it is left to whoever
//          needs it, as is a leaf that cannot be read. Throws std::bad_alloc, and what the pool
//          throws when an inner node has to be brought in.
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

/// Where a key lies, or would be inserted, while its leaf has this version.
struct KeyPlace {
  FrameIndex frame = kNoFrame;
  std::uint64_t version = 0;
  SearchResult at{};

  [[nodiscard]] bool is_known() const noexcept { return frame != kNoFrame; }
  [[nodiscard]] bool is_beside(const KeyPlace& other) const noexcept {
    return frame == other.frame && version == other.version;
  }
};

/// Keys that are looked for together: about as many as there are lines that a processor can wait
/// for at once.
inline constexpr std::size_t kKeysTogether = 16;

/// Keys that were looked for together, or the last of them, and their places.
struct KeysFound {
  std::span<const ByteView> keys;
  std::span<const KeyPlace> places;
};

/// What the records are wanted for. Who writes needs their entries in the leaves' mapping tables;
/// who reads mostly needs none. Who reads copies them; who visits looks at some bytes of each.
enum class Purpose : std::uint8_t { read = 1, visit, write };

/// Finds the places of at most kKeysTogether keys; `places` has as many.
void find_places(const Descent& descent, std::span<const ByteView> keys, std::span<KeyPlace> places,
                 Purpose purpose);

}  // namespace palimpsest::btree
