// Log records of changes of B+-tree pages: one record, one payload, for all pages of a change.
//
// The log treats payloads as opaque bytes of a known length; this header defines them. Writing:
// tree_record_encode.h. Reading and validating: tree_record.h. Applying to pages: tree_redo.h.
// Undoing: tree_undo.h.
//
// There are two families. A *record change* concerns one record of a leaf and can be undone: it
// names the page and slot for redo, and tree and key for undo, because splits and merges move
// records. Its compensation is a record change with the bit kCompensation: redo-only. The creation
// of a tree can be undone, too, as long as the tree is only its root. All other records are
// redo-only: splits, merges and purges are complete when their one record is in the log, or have
// not happened.
// Invariants: (1) redo of a page reads that page and the record, nothing else; a page that is
//                 formatted is not read;
//             (2) the compensation of a record change follows from its payload alone, except for
//                 where the record is by then, which alone may make it longer;
//             (3) a payload names the large values that its change allocates or frees in full, so
//                 that the space map can be rebuilt from the log.
//
// All integers are little-endian; a payload is not aligned. Record changes, which are nearly all of
// a log, are packed: "v" is a varint (base/varint.h); slots, offsets and lengths have at most 16
// bits. In the log (offsets in bytes):
//   record change (insert, erase, patch, replace, mark)
//     0  1  kind            TreeRecordKind, and bits above it
//     1  v  slot            of the record, in its leaf as it was before an insert
//     .  v  tree_id
//     .  v  page_id         the leaf
//     .  v  key_len         at least 1
//     .  2  flags           only with kHasFlags: before (0 for an insert) and after (0 for an
//                           erase), a byte each, not both 0; else both are 0
//     .  .  key             whole
//     .  .  by kind, up to the end of the payload:
//           insert          the value
//           erase           the descriptor of a large value, else nothing
//           patch           any number of runs: v bytes between it and the run before, at least 1
//                           except for the first; v length; the differing bits, bytes before XOR
//                           bytes after, so that a patch is its own inverse. The value keeps its
//                           length; neither value is large
//           replace         v prefix_len, v suffix_len (bytes that both values have in common; 0 if
//                           one of them is large), v before_len, the bytes before between prefix
//                           and suffix, the bytes after
//           mark            nothing: the flags change, kGhost among them
//           An insert over a ghost is a patch or replace of the ghost's body that clears kGhost.
//           The value of a record with a shadow is value and shadow (virtual_version.h).
//   format_root: an empty leaf without fences, the root of a new tree; free_root: it is freed
//     0  1  kind, no bits
//     1  1  zero
//     2  2  zero
//     4  4  tree_id
//     8  8  page_id
//   purge of ghosts
//     0  8  as above, but  2  2  number of entries, at least 1
//     8  8  page_id         the leaf
//    16  .  entries         2 slot, 2 descriptor_len, the descriptor of a large value; slots ascend
//   resolution of virtual versions (perhaps none), and a leaf's new epoch
//     0  8  as above, but  1  1  Resolution
//     8  8  page_id         the leaf
//    16  8  epoch           the leaf's new epoch
//    24  .  entries         as above; the descriptor of the large value that is freed
//   bulk erasure: records deleted together by the bulk of the leaf's epoch (virtual_version.h)
//     0  8  as above, but  2  2  number of runs, at least 1
//     8  8  page_id         the leaf
//    16  .  runs            2 first slot, 2 number of slots, at least 1; ascending. No record is a
//                           ghost, none has a shadow
//   structure change (split, split_root, merge, merge_root)
//     0  1  kind and bits
//     1  1  zero
//     2  2  slot            separator of the parent that is inserted or removed; 0 with a root
//     4  4  tree_id
//     8  8  left            } the pages that are split or merged
//    16  8  right           }
//    24  8  above           their parent, or the root
//    32  2  cut             split: SplitPlan::cut; else 0
//    34  2  separator_len   of a split, at least 1; else 0
//    36  4  left_bytes      split_root: length of the left image; else 0
//    40  8  epoch           of the leaves with this content; 0 for inner nodes
//    48  .  separator
//     .  .  images          split: right, afterwards. split_root: left, then right, afterwards.
//                           merge: right, before. merge_root: the root, afterwards
//   move: page `right`, now free, has become page `left`; a structure change with the image of
//     `left`. `slot` is its index among the children of `above`; or, with kMovesRoot, the slot of
//     the record that names it, in the leaf `above` of tree `left_bytes` (moved_page.h)
//   graft: durable leaves, inserted before the last leaf of the tree, which is empty
//     0  1  kind, no bits
//     1  1  zero
//     2  2  slot            of the parent's first new separator; it has as many before
//     4  4  tree_id
//     8  8  last            the last leaf: it begins where the last new leaf ends
//    16  8  above           its parent
//    24  8  count           of the leaves, at least 1
//    32  .  leaves          ascending: v page_id, v separator_len, the separator at its end
//   image of a node: bytes [64, end of slots) and [heap_begin, page size) of the page, swips
//   replaced by page ids. The page header follows from the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/varint.h"
#include "btree/node/key_bytes.h"
#include "btree/node/node_layout.h"

namespace palimpsest::btree {

/// 0 is reserved, so that bytes never written are detected.
enum class TreeRecordKind : std::uint8_t {
  insert = 1,   ///< a new record
  erase,        ///< a record removed, as compensation of an insert
  patch,        ///< a value changed that keeps its length
  replace,      ///< a value changed that changes its length, or is large
  mark,         ///< a record deleted (made a ghost), or a ghost made a record again
  format_root,  ///< a tree created
  split,        ///< a node split below its parent
  split_root,   ///< the root's content divided between two new children
  merge,        ///< a node's content moved into its left neighbour; the parent keeps a child
  merge_root,   ///< the root's last two children merged, and their content moved into the root
  purge,        ///< ghosts removed
  free_root,    ///< a new tree's root freed, as compensation of format_root
  resolve,      ///< virtual versions resolved, and the leaf given another epoch
  graft,        ///< leaves that are already written inserted at the tree's end
  bulk_erase,   ///< records made ghosts, all at once
  move,         ///< a page's content moved to another page, which the parent now names
};

// Bits beside the kind; those without a name are reserved and zero.
inline constexpr unsigned kCompensation = 0x10;  ///< a record change that undoes another
inline constexpr unsigned kHasFlags = 0x20;      ///< a record change: flags are there
inline constexpr unsigned kNewGoesLeft = 0x40;   ///< a split: SplitPlan::new_goes_left
inline constexpr unsigned kMovesRoot = 0x40;     ///< a move: a record names the page, not a parent

/// The first byte of a payload.
[[nodiscard]] constexpr std::uint8_t kind_byte(TreeRecordKind kind, unsigned bits = 0) noexcept {
  const auto number = static_cast<unsigned>(kind);  // its fifth bit is the byte's highest one
  return static_cast<std::uint8_t>((number & 0xFU) | (number & 0x10U) << 3U | bits);
}
[[nodiscard]] constexpr TreeRecordKind kind_in(std::uint8_t kind_byte) noexcept {
  return TreeRecordKind{static_cast<std::uint8_t>((kind_byte & 0xFU) | (kind_byte & 0x80U) >> 3U)};
}
[[nodiscard]] constexpr unsigned bits_in(std::uint8_t kind_byte) noexcept {
  return kind_byte & 0x70U;
}

/// The head of a record change, up to the key, decoded.
struct RecordChangeHead {
  TreeRecordKind kind{};
  bool compensation = false;
  std::uint16_t slot = 0;
  TreeId tree_id = kNoTree;
  PageId page_id = kNoPage;
  std::uint16_t key_len = 0;
  std::uint8_t flags_before = 0;
  std::uint8_t flags_after = 0;

  [[nodiscard]] constexpr bool has_flags() const noexcept {
    return flags_before != 0 || flags_after != 0;
  }
};

/// For format_root, free_root, purge, resolve and bulk_erase.
struct LeafChangeHeader {
  std::uint8_t kind;
  std::uint8_t resolution;  ///< resolve: Resolution; else 0
  std::uint16_t count;
  TreeId tree_id;
  PageId page_id;
};

struct PurgeEntry {
  std::uint16_t slot;
  std::uint16_t descriptor_len;
};

/// Consecutive slots of a bulk erasure.
struct SlotRun {
  std::uint16_t first;
  std::uint16_t count;
};

struct StructureChangeHeader {
  std::uint8_t kind;
  std::uint8_t reserved;
  std::uint16_t slot;
  TreeId tree_id;
  PageId left;
  PageId right;
  PageId above;
  std::uint16_t cut;
  std::uint16_t separator_len;
  std::uint32_t left_bytes;
  BulkEpoch epoch;
};

struct GraftHeader {
  std::uint8_t kind;
  std::uint8_t reserved;
  std::uint16_t slot;
  TreeId tree_id;
  PageId last;
  PageId above;
  std::uint64_t count;
};

static_assert(sizeof(GraftHeader) == 32 && offsetof(GraftHeader, count) == 24);
static_assert(sizeof(LeafChangeHeader) == 16 && offsetof(LeafChangeHeader, page_id) == 8);
static_assert(offsetof(LeafChangeHeader, count) == 2 && offsetof(LeafChangeHeader, tree_id) == 4);
static_assert(sizeof(PurgeEntry) == 4 && sizeof(SlotRun) == 4);
static_assert(sizeof(StructureChangeHeader) == 48 && offsetof(StructureChangeHeader, left) == 8);
static_assert(offsetof(StructureChangeHeader, above) == 24);
static_assert(offsetof(StructureChangeHeader, cut) == 32);
static_assert(offsetof(StructureChangeHeader, left_bytes) == 36);
static_assert(offsetof(StructureChangeHeader, epoch) == 40);
static_assert(kRecordFlagsKnown <= 0xFF, "flags have a byte in a record change");
/// Longest slot, offset or length in a record change.
inline constexpr std::size_t kShortBytesMax = varint_bytes(0xFFFF);
inline constexpr std::size_t kPageIdBytesMax = varint_bytes(~std::uint64_t{0});
/// Longest head of a record change, up to the key.
inline constexpr std::size_t kRecordHeadBytesMax =
    1 + kShortBytesMax + varint_bytes(~std::uint32_t{0}) + kPageIdBytesMax + kShortBytesMax + 2;
/// Longest lengths of a replace.
inline constexpr std::size_t kReplaceHeadBytesMax = 3 * kShortBytesMax;
/// Most bytes that a leaf takes in a graft beside its separator.
inline constexpr std::size_t kGraftEntryBytesMax = kPageIdBytesMax + kShortBytesMax;
/// Longest image of a node.
[[nodiscard]] constexpr std::size_t node_image_bytes_max(std::uint32_t page_size) noexcept {
  return page_size - kNodeHeaderOffset;
}

/// Longest record change: key and value before, and key and value after, take a quarter page each;
/// the key is stored once.
[[nodiscard]] constexpr std::size_t max_record_change_bytes(std::uint32_t page_size) noexcept {
  return kRecordHeadBytesMax + kReplaceHeadBytesMax + std::size_t{2} * record_bytes_max(page_size);
}
/// Longest record change by a bulk, which keeps the previous state.
[[nodiscard]] constexpr std::size_t max_bulk_change_bytes(std::uint32_t page_size) noexcept {
  return kRecordHeadBytesMax + kReplaceHeadBytesMax + std::size_t{2} * stored_bytes_max(page_size);
}

/// Longest record of all. A root split carries all of the root's records, compact, in two images:
/// that adds a second node header, and the separator three times, to the content of one page.
[[nodiscard]] constexpr std::size_t max_record_bytes(std::uint32_t page_size) noexcept {
  return page_size + page_size / 2;
}
static_assert(sizeof(StructureChangeHeader) + sizeof(NodeHeader) +
                      std::size_t{3} * key_bytes_max(buffer::kPageSizeMin) + buffer::kPageSizeMin <=
                  max_record_bytes(buffer::kPageSizeMin),
              "the largest structure change fits a record, with larger pages all the more");
static_assert(max_bulk_change_bytes(buffer::kPageSizeMin) <=
              max_record_bytes(buffer::kPageSizeMin));

}  // namespace palimpsest::btree
