// Where a copy of a database may not lie.
#pragma once

#include <string>
#include <string_view>

namespace palimpsest::detail {

/// Throws invalid_argument if the path lies in the database's own directory: a copy there would be
/// lost with the database, and would be taken for a part of it. The directory itself is refused as
/// any that is not empty. `what`: of the copy, as a message begins: "a backup".
void refuse_within_own(std::string_view what, const std::string& path, const std::string& own);

}  // namespace palimpsest::detail
