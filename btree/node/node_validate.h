// Validates node pages that come from outside, and audits nodes in tests.
//
// A page image read from a file may be malicious with a correct checksum. validate_node() checks
// once, when the page is loaded, everything that later code relies on; it is fast enough for that
// (one pass, no allocation unless it finds a fault). If it finds nothing:
// - the page is a leaf or an inner node of this format; type and level agree;
// - lengths and offsets are in range, records and fences do not overlap, heap_used and ghost_count
//   are right, so that changing functions never leave the page and their arithmetic never wraps;
// - fences are ordered, the prefix is their common prefix, keys ascend strictly within the fences,
//   heads and hints are right, so that searches find what is there and splits find valid cuts;
// - no key is longer than key_bytes_max(), no record larger than record_bytes_max(), so that splits
//   always fit; reserved fields and unknown flags are zero;
// - each child swip is plausible by the caller's own rule.
// Still not trusted: page id, tree id, checksum and GSN (the pool compares those), last_insert and
// run (hints, any value is valid), where children lead (validate_child compares level and fences
// when one is loaded), and the meaning of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

/// The caller's rule for child swips of a page just loaded: unswizzled, and a page id in the file.
struct SwipRule {
  bool (*plausible)(const void* context, std::uint64_t swip) noexcept = nullptr;
  const void* context = nullptr;  ///< passed to `plausible`; must outlive the call
};

/// The reason why the image cannot be used as a node, or nothing. Accepts any bytes; the memory
/// must be aligned to 8 bytes and private to the caller or latched. Without a rule any swip passes.
[[nodiscard]] std::optional<std::string> validate_node(ConstBytes page, const SwipRule& swips = {});

/// validate_node(), and also that every unused byte is zero, which no code relies on. For tests and
/// the tree walker of `palimpsest check`.
[[nodiscard]] std::optional<std::string> audit_node(ConstBytes page, const SwipRule& swips = {});

/// Whether a validated page may hang below child position `child` of a validated inner node: one
/// level lower, same tree, and fences equal to the separators around it. The reason if not.
[[nodiscard]] std::optional<std::string> validate_child(const InnerView& parent, SlotIndex child,
                                                        ConstBytes child_page);

}  // namespace palimpsest::btree
