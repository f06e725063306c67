// Waits until the page writes that are under way have ended.
#pragma once

#include "palimpsest/error.h"

#include "buffer/page_writer.h"

namespace palimpsest::test {

/// Returns once every batch that has begun before is written: only then are pages that were freed
/// meanwhile free. A failed file has none.
inline void wait_for_writes(buffer::PageWriter& writer) {
  try {
    static_cast<void>(writer.begin_batch());
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): as said
  }
}

}  // namespace palimpsest::test
