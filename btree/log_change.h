// Appends the log record of a change to a page, and stamps the page with its GSN.
//
// Latching: the caller holds the page exclusively. Failure: none; log space was reserved.
#pragma once

#include <cstddef>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "btree/write_context.h"
#include "buffer/page_guard.h"
#include "buffer/page_header.h"
#include "wal/transaction_log.h"

namespace palimpsest::btree {

[[nodiscard]] inline PageId page_id_of(const buffer::ExclusivePage& page) noexcept {
  return page.frame().page_id.load(std::memory_order_relaxed);
}
/// GSN of the newest change of a page.
[[nodiscard]] inline Gsn gsn_of(const std::byte* page) noexcept {
  Gsn gsn;
  std::memcpy(&gsn, page + offsetof(buffer::PageHeader, gsn), sizeof gsn);
  return gsn;
}
/// Stamps a page that a record frees, and that is not written any more.
inline void set_gsn_of_freed(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  std::memcpy(page.modify() + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
}
/// Stamps a dirty page after its record was appended: page_age.h (1).
inline void set_gsn(buffer::ExclusivePage& page, Gsn gsn) noexcept {
  PALIMPSEST_DEBUG_CHECK(page.frame().has(buffer::FrameFlag::dirty),
                         "a page is marked dirty before the record of its change is appended");
  set_gsn_of_freed(page, gsn);
}

/// Logs a change of one record by encode() and encoded_bytes() of tree_record_encode.h, and stamps
/// its leaf. The leaf is marked dirty before the record can be seen, so that a checkpoint that
/// begins behind the record finds the page. Returns the record's GSN.
template <class Change>
Gsn log_change(const WriteContext& by, buffer::ExclusivePage& leaf, const Change& change) noexcept {
  static_cast<void>(leaf.modify());
  const Gsn gsn =
      by.log()->append_change(gsn_of(leaf.page()), wal::BodyKind::tree, change.encoded_bytes(),
                              [&](MutableBytes into) { change.encode(into); });
  set_gsn(leaf, gsn);
  return gsn;
}

/// Logs a redo-only change; the caller stamps its pages. `at_least`: their highest GSN.
template <class Change>
[[nodiscard]] Gsn log_system_change(const WriteContext& by, Gsn at_least,
                                    const Change& change) noexcept {
  return by.log()->append_system(at_least, wal::BodyKind::tree, change.encoded_bytes(),
                                 [&](MutableBytes into) { change.encode(into); });
}

}  // namespace palimpsest::btree
