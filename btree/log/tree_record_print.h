// Log records of a tree as text, for `palimpsest log`, failing tests and error reports.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace palimpsest::btree {

/// One line without a line break: kind, tree, pages with their effects, slot, key, before -> after.
/// Accepts any bytes: an invalid record is shown as its first bytes and the reason.
[[nodiscard]] std::string print_tree_record(ConstBytes payload, std::uint32_t page_size);

}  // namespace palimpsest::btree
