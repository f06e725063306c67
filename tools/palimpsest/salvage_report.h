// What `palimpsest salvage` prints of what was copied and what is missing: as text, or as JSON, an
// object a line.
//
// JSON: each object has "kind": table, gap, lost_index, damaged_definition, lost_tree, result. A
// gap follows its table: rows between the keys "after" and "before", null where there is no such
// row. The result is the last line; or there is one object of the kind error, with "code" and
// "message". What is added later is added as further members and kinds.
// Failure: none.
#pragma once

#include <string_view>

#include "palimpsest/error.h"
#include "palimpsest/salvage.h"

namespace palimpsest::tools {

void show_salvage(const SalvageReport& report, std::string_view copy, bool json);
/// As JSON: nothing is copied.
void show_salvage_error(const Error& error);

}  // namespace palimpsest::tools
