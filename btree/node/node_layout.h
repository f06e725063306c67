// The page format of B+-tree nodes, leaf and inner.
//
// A node covers the keys in [lower fence, upper fence): the lower fence is included, the upper is
// not. An empty lower fence is below every key; a missing upper fence (flag) is above every key.
// The *prefix* is the common prefix of the two fences (empty without an upper fence). Every key of
// the node starts with it, so keys are stored without it, as *suffixes*; the prefix itself is the
// start of the lower fence.
//
// On disk (little-endian; offsets in bytes from the start of the page):
//     0  64  PageHeader           buffer/page_header.h; type tree_leaf or tree_inner
//    64   2  count                records of a leaf, separators of an inner node
//    66   2  prefix_len
//    68   2  lower_len            length of the lower fence, 0 for "below every key"
//    70   2  upper_len            length of the upper fence, 0 if there is none
//    72   4  heap_begin           page offset of the lowest heap byte
//    76   4  heap_used            bytes of live records in the heap, fences not counted
//    80   1  level                0 for a leaf
//    81   1  flags                NodeFlags
//    82   2  last_insert          position of the last insertion; a hint, any value is valid
//    84   2  run                  length of the run of ascending (>0) or descending (<0) insertions
//    86   2  head_skip            common leading bytes of all suffixes, which heads leave out
//    88   8  leftmost_child       swip of child 0 (inner node), zero in a leaf
//    96  64  hint[16]             head of slot (i * count) / 16, i in [0, 16); zero if count is 0
//   160      slots                count * LeafSlot or InnerSlot, ascending by key
//    ...     free space
//   heap_begin .. fences          suffixes and values of records, holes between them
//   page size - lower_len - upper_len  upper fence, then the lower fence up to the end of the page
//
// Invariants: (1) slots end at or below heap_begin; records lie in [heap_begin, fences) and do not
//                 overlap; heap_used is the sum of their lengths;
//             (2) keys ascend strictly and lie within the fences; an inner node's separators lie
//                 strictly above the lower fence;
//             (3) heads and hints agree with the keys; all suffixes start with the same head_skip
//                 bytes;
//             (4) unused bytes (free space, holes, reserved fields) are zero, so that no deleted
//                 data reaches the disk;
//             (5) the page header's ghost_count is the number of records flagged kGhost, its
//                 shadow_count of those flagged kShadowed;
//             (6) a leaf that has a record with a flag of kVirtual has an epoch.
// A *ghost* is a deleted record that stays where it is, body included, until it is purged: reads
// treat it as absent; searches, splits and merges treat it as any other record.
// A record's suffix and value are adjacent (suffix first), so that one cache line serves both. The
// head is the first four suffix bytes behind head_skip ("poor man's normalised keys", Graefe and
// Larson, ICDE 2001); heads with a hint array follow LeanStore (ICDE 2018). Why head_skip: nodes
// with an infinite upper fence, the root among them, have no prefix, and with small integers as
// keys all their heads would be zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "btree/node/key_bytes.h"
#include "buffer/page_header.h"

namespace palimpsest::btree {

/// Index of a record or separator in its node, or of a child (one more than separators). A plain
/// integer, because it is computed with everywhere; it is never stored.
using SlotIndex = std::uint32_t;

/// Highest level of an inner node. A tree of 2^64 records has less than 64 levels.
inline constexpr std::uint32_t kLevelMax = 63;
inline constexpr std::uint32_t kHintCount = 16;

/// Bits of NodeHeader::flags.
enum NodeFlags : std::uint8_t {
  kUpperIsInfinite = 1,
};

struct NodeHeader {
  std::uint16_t count;
  std::uint16_t prefix_len;
  std::uint16_t lower_len;
  std::uint16_t upper_len;
  std::uint32_t heap_begin;
  std::uint32_t heap_used;
  std::uint8_t level;
  std::uint8_t flags;
  std::uint16_t last_insert;
  std::int16_t run;
  std::uint16_t head_skip;
  std::uint64_t leftmost_child;
  std::uint32_t hint[kHintCount];
};

/// Bits of LeafSlot::flags. Bits without a name are reserved and zero.
enum RecordFlags : std::uint16_t {
  kPlainRecord = 0,
  kLargeValue = 1,  ///< the value is the descriptor of a large value
  kGhost = 2,       ///< deleted, and not purged yet
  // Virtual versions: changes by the bulk of the page's epoch (virtual_version.h).
  kCreated = 4,       ///< created the record: there was none before
  kDeleted = 8,       ///< deleted the record: it is a ghost now, and was none before
  kShadowed = 16,     ///< changed the record: its bytes are the current value, then the shadow
  kShadowLarge = 32,  ///< the shadow is a large value's descriptor
  kShadowGhost = 64,  ///< the shadow is a ghost's
  // In memory only, never on disk (I-6):
  kHasEntry = 0x8000,       ///< the record may have an entry in its page's mapping table, or a mark
  kMadeInSpan = 0x4000,     ///< a mark: the record was made in the page's span (versioning/spans.h)
  kRemovedInSpan = 0x2000,  ///< a mark: the record was removed in the page's span
};
inline constexpr std::uint16_t kMarks = kMadeInSpan | kRemovedInSpan;
inline constexpr std::uint16_t kInMemoryOnly = kHasEntry | kMarks;
inline constexpr std::uint16_t kVirtual = kCreated | kDeleted | kShadowed;
inline constexpr std::uint16_t kNamesLarge = kLargeValue | kShadowLarge;
inline constexpr std::uint16_t kRecordFlagsKnown =
    kNamesLarge | kGhost | kVirtual | kShadowLarge | kShadowGhost;

struct LeafSlot {
  std::uint32_t head;
  std::uint16_t offset;     ///< page offset of the suffix
  std::uint16_t key_len;    ///< length of the suffix
  std::uint16_t value_len;  ///< the value follows the suffix
  std::uint16_t flags;      ///< RecordFlags
};

/// Separator i and its right child, child i + 1: keys >= separator i go there.
struct InnerSlot {
  std::uint64_t swip;  ///< only accessed atomically: the buffer pool changes it under its own rules
  std::uint32_t head;
  std::uint16_t offset;
  std::uint16_t key_len;
};

inline constexpr std::uint32_t kNodeHeaderOffset = sizeof(buffer::PageHeader);
inline constexpr std::uint32_t kSlotsOffset = kNodeHeaderOffset + sizeof(NodeHeader);
inline constexpr std::uint32_t kLeftmostChildOffset =
    kNodeHeaderOffset + offsetof(NodeHeader, leftmost_child);

/// Bytes of a page for slots, records and fences.
[[nodiscard]] constexpr std::uint32_t node_capacity_bytes(std::uint32_t page_size) noexcept {
  return page_size - kSlotsOffset;
}

/// Whether nodes can be built in pages of this size.
[[nodiscard]] constexpr bool is_node_page_size(std::uint32_t page_size) noexcept {
  return page_size >= buffer::kPageSizeMin && page_size <= buffer::kPageSizeMax &&
         (page_size & (page_size - 1)) == 0;
}

static_assert(sizeof(NodeHeader) == 96 && kSlotsOffset == 160);
static_assert(offsetof(NodeHeader, heap_begin) == 8 && offsetof(NodeHeader, level) == 16);
static_assert(offsetof(NodeHeader, run) == 20 && offsetof(NodeHeader, leftmost_child) == 24);
static_assert(offsetof(NodeHeader, hint) == 32);
static_assert(sizeof(LeafSlot) == 12 && offsetof(LeafSlot, flags) == 10);
static_assert(sizeof(InnerSlot) == 16 && offsetof(InnerSlot, key_len) == 14);
static_assert(kSlotsOffset % alignof(InnerSlot) == 0 && kLeftmostChildOffset % 8 == 0,
              "swips are aligned, so that they can be accessed atomically");
// Both kinds of slots hold head, offset and key_len in this order, so the search is written once.
static_assert(offsetof(LeafSlot, offset) == offsetof(LeafSlot, head) + 4 &&
              offsetof(LeafSlot, key_len) == offsetof(LeafSlot, head) + 6);
static_assert(offsetof(InnerSlot, offset) == offsetof(InnerSlot, head) + 4 &&
              offsetof(InnerSlot, key_len) == offsetof(InnerSlot, head) + 6);

}  // namespace palimpsest::btree
