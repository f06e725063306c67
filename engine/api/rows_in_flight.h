// Rows of a bulk that have been sent to their table and have not arrived: the bulk collects the
// next rows while the leaves of these are being written (bulk/leaf_writer.h).
//
// The records stay in memory until the tree contains them, so that nothing is lost when a page
// cannot be written: the next call that needs them appends them again.
//   sent       a run contains them, and its pages are being written; nothing refers to these pages
//   arrived    the pages are durable and linked into the tree; the records are dropped
//   left over  the run failed, or did not take all records: its pages are free, and the records are
//              as if they had never been sent
// If the bulk ends in between, its run ends as well: it waits for the writes, and then the pages
// are free. After a crash the pages are named by no record, whatever of them is on disk, and the
// rows were never visible (I-7: no definition names them, or no committed epoch).
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <memory>

#include "bulk/leaf_builder.h"
#include "bulk/record_buffer.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

struct RowsInFlight {
  const TableState* table = nullptr;  ///< of the records, if there are any
  bulk::RecordBuffer records;
  std::unique_ptr<bulk::LeafBuilder> run;  ///< null: the records are left over
};

}  // namespace palimpsest::engine
