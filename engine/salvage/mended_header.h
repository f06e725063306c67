// A header for a page file whose own is damaged, or says that the file is longer than it is: made
// of what is left of it, or else of what the pages say.
//
// Without any whole copy the page size is the one by which pages have their checksums, and where
// the pages begin follows from the places of space map pages. The root of the catalog is not known
// then.
// Thread-safety: the caller has the file to itself.
// Failure: Error not_a_database if no page of any size is whole; io_error.
#pragma once

#include <optional>

#include "base/file_format.h"
#include "base/io/device.h"

namespace palimpsest::engine {

/// Writes such a header to the page file of the directory, over all copies. `uuid`: of the log; a
/// header that is left has its own.
void mend_header(io::Device& pages, const std::optional<Uuid>& uuid);

}  // namespace palimpsest::engine
