#include "txn/validation.h"

#include <new>
#include <utility>

#include "base/sync_point.h"
#include "txn/transactions.h"
#include "versioning/version.h"

namespace palimpsest::txn {

NotSerializable::NotSerializable(TreeId tree, std::string key)
    : Error(ErrorCode::not_serializable,
            "a record that the transaction read was changed by another transaction, which "
            "committed first; the transaction has been rolled back"),
      tree_(tree),
      key_(std::move(key)) {}

void Validation::begin(bool registers) {
  if (registers) {
    if (reads_ == nullptr) {
      reads_ = std::make_unique<versioning::ReadSet>(all_.read_memory());
    }
    reads_->begin();
  }
  registers_ = registers;
}

bool Validation::check_until_now(Gsn snapshot) noexcept {
  reads_->seal();
  snapshot_ = snapshot;
  checked_ = all_.clock_now();
  return is_unchanged(snapshot, checked_);
}

bool Validation::check_until(Gsn date) noexcept {
  return is_unchanged(checked_, date);
}

void Validation::refuse() const {
  if (tree_ == kNoTree) {
    throw Error(ErrorCode::not_serializable,
                "a bulk transaction has committed, or definitions of tables have changed, since "
                "the transaction began; the transaction has been rolled back");
  }
  throw NotSerializable(tree_, key_);
}

// Bulks are checked last: a transaction that was waited for has announced by then whether it was
// one.
bool Validation::is_unchanged(Gsn after, Gsn upto) noexcept {
  const auto is_unread = [&](const versioning::Version& version) {
    const versioning::Entry& entry = version.entry();
    if (reads_->empty() || !reads_->covers(entry.tree(), entry.key())) {
      return true;
    }
    tree_ = entry.tree();
    try {
      key_.assign(entry.key());
    } catch (const std::bad_alloc&) {
      key_.clear();
    }
    return false;
  };
  const bool found_none = all_.visit_dated(slot_, after, upto, is_unread);
  PALIMPSEST_SYNC_POINT("txn.validation.visited");
  if (found_none && all_.has_bulk_since(snapshot_)) {
    tree_ = kNoTree;
    return false;
  }
  return found_none;
}

}  // namespace palimpsest::txn
