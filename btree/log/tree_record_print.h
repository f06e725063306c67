// Log records of a tree as text, for `palimpsest log`, failing tests and error reports.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace palimpsest::btree {

/// One line without a line break: kind, tree, pages with what happens to them, slot, key, before ->
/// after. Any bytes may be given: what is no record is shown as its first bytes and the reason.
[[nodiscard]] std::string print_tree_record(ConstBytes payload, std::uint32_t page_size);

}  // namespace palimpsest::btree
