// Waiting until the page writes that are under way have ended.
#pragma once

#include "palimpsest/error.h"

#include "buffer/page_writer.h"

namespace palimpsest::test {

/// Returns once no batch that has begun before is being written: a page that is freed meanwhile is
/// free only then. A file that has failed has none.
inline void wait_for_writes(buffer::PageWriter& writer) {
  try {
    static_cast<void>(writer.begin_batch());
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): as said
  }
}

}  // namespace palimpsest::test
