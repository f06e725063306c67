// What a page that moves leaves behind where it is named: the swip of its parent, or, of a root, a
// record of the catalog, the last 8 bytes of whose value name it.
//
// Failure: the fault_ functions rely on nothing, and return the reason; the others rely on having
//          been let through. Thread-safety: pure functions; the caller has the pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "btree/log/tree_record.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

/// The root that a record names; kNoPage if it names none.
[[nodiscard]] PageId root_named(const LeafView& leaf, SlotIndex slot) noexcept;
/// It names this one from now on.
void name_root(const LeafNode& leaf, SlotIndex slot, PageId root) noexcept;

/// Whether `page`, where what this record moves was named, names it.
[[nodiscard]] std::optional<std::string> fault_of_move(const TreeRecord& record,
                                                       const NodeView& page);
void apply_move(const TreeRecord& record, std::byte* page, std::uint32_t page_size) noexcept;

}  // namespace palimpsest::btree
