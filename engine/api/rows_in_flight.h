// Rows of a bulk that have been sent to their table and are not in it yet: the bulk collects the
// next ones while leaves of these are being written (bulk/leaf_writer.h).
//
// The records stay until the tree has them, so that nothing is lost when a page cannot be written:
// they are appended once more then, by whoever asks for them next.
//   sent       a run has them, whose pages are being written; nothing names these pages
//   arrived    the pages are durable and hang in the tree; the records are forgotten
//   left over  the run came to nothing, or did not take them all: its pages are free, and the
//              records are as if they had never been sent
// A bulk that ends in between takes its run with it: what is being written is waited for, and the
// pages are free then. A crash finds pages that no record names, whatever of them is on disk; the
// rows were nobody's (I-7: no definition, or no epoch that counts, says otherwise).
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <memory>

#include "bulk/leaf_builder.h"
#include "bulk/record_buffer.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

struct RowsInFlight {
  const TableState* table = nullptr;  ///< whose rows they are, if there are any
  RecordBuffer records;
  std::unique_ptr<btree::LeafBuilder> run;  ///< null: they are left over
};

}  // namespace palimpsest::engine
