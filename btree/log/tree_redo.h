// Applies log records to pages, one page at a time: for recovery, and for the compensations of
// rollback.
//
// Redo calls the functions that made the change, so the page comes out byte for byte as it was,
// except for checksum and write batch, which are stale in memory (and for swips: a record names
// pages, a resident page frames). The caller decides by the page's GSN whether a record must be
// applied: an image older than the record is exactly the page as the change found it.
//
// Inner pages are given as they are on disk, with no swip swizzled. Pages that the record changes
// have passed validate_node(); pages that it formats (visit_pages()) may hold anything.
// Failure: a payload that is damaged or does not suit the page is corruption, found before the page
//          is touched. Latching: the caller holds the page exclusively. Thread-safety: pure
//          functions.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/node_validate.h"

namespace palimpsest::btree {

/// Applies the record to one of its pages and sets the page's GSN; a page that the record frees is
/// left as it is. Throws Error corruption, naming page and kind, and then has changed nothing.
/// `swips`: which children a record may bring into a page. `image` is a whole page, aligned to 8
/// bytes.
void redo(ConstBytes payload, PageId page, MutableBytes image, Gsn gsn, const SwipRule& swips = {});

/// The reason why redo() would throw, or nothing. A rollback checks this before it logs a
/// compensation. Changes nothing.
[[nodiscard]] std::optional<std::string> redo_fault(ConstBytes payload, PageId page,
                                                    ConstBytes image, const SwipRule& swips = {});

}  // namespace palimpsest::btree
