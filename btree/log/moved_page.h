// Updates where a moved page is named: the swip of its parent or, for a root, the last 8 bytes of
// the value of a catalog record.
//
// Failure: the fault_ functions accept any record and page, and return the reason; the other
// functions rely on a check by these. Thread-safety: pure functions; the caller holds the pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "btree/log/tree_record.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

/// The root that the record names; kNoPage if it names none.
[[nodiscard]] PageId root_named(const LeafView& leaf, SlotIndex slot) noexcept;
/// Makes the record name this root.
void name_root(const LeafNode& leaf, SlotIndex slot, PageId root) noexcept;

/// The reason if `page`, which must name what this record moves, does not name it.
[[nodiscard]] std::optional<std::string> fault_of_move(const TreeRecord& record,
                                                       const NodeView& page);
void apply_move(const TreeRecord& record, std::byte* page, std::uint32_t page_size) noexcept;

}  // namespace palimpsest::btree
