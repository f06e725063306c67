#include "engine/api/reading.h"

namespace palimpsest::detail {

Reading::Reading(const TableHandle& table, const Transaction* in, Reads reads)
    : table_(&table),
      by_(table.reader(in)),
      is_long_(reads == Reads::range || reads == Reads::cursor) {
  if (txn::Transaction* const by = by_.get()) {
    const bool is_one_call = reads == Reads::one_row || reads == Reads::range;
    if (by->isolation() == txn::Isolation::read_committed && !is_one_call) {
      view_ = by->begin_view();
    }
    return;
  }
  if (table.database().isolation == txn::Isolation::none) {
    return;
  }
  if (reads == Reads::one_row) {
    is_stable_enough_ = true;
  } else {
    take_snapshot();
  }
}

void Reading::take_snapshot() {
  view_ = table_->database().engine->begin(txn::Durability::asynchronous, txn::Isolation::snapshot,
                                           txn::SnapshotUse::reads);
  is_stable_enough_ = false;
}

}  // namespace palimpsest::detail
