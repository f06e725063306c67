// Reads all rows of a range, for the consistency checks of workloads: one read-only transaction,
// while no other one is open.
//
// Thread-safety: belongs to one thread. Failure: DamagedRecord, the engine's errors.
#pragma once

#include <stdexcept>
#include <utility>

#include "experiments/oltp/table_session.h"

namespace palimpsest::experiments::oltp {

template <StoreSession S>
class TableReader {
 public:
  /// `session` has no transaction open, and outlives the reader.
  explicit TableReader(TableSession<S>& session) : session_(session) {
    session_.begin(Intent::read_only);
  }
  ~TableReader() { session_.rollback(); }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// Calls visit(key, row), or visit(key) for an index, for all of [first, last], in key order.
  template <class Key, class Visit>
  void scan(const Key& first, const Key& last, Visit&& visit) {
    Access access = Access::done;
    if constexpr (requires { typename Key::Row; }) {
      access = session_.visit_rows(first, last, Direction::forward,
                                   [&](const Key& key, const RowOf<Key>& row) {
                                     visit(key, row);
                                     return true;
                                   });
    } else {
      access = session_.visit_keys(first, last, Direction::forward, [&](const Key& key) {
        visit(key);
        return true;
      });
    }
    if (access != Access::done) {
      throw std::runtime_error("a check met a conflict, although nothing else is running");
    }
  }

 private:
  TableSession<S>& session_;
};

}  // namespace palimpsest::experiments::oltp
