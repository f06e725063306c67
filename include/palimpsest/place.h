// Where something lies, or would lie: what Database::prefetch() brings into memory.
//
//   database.prefetch({{accounts, {7}}, {branches, {3}}, {by_owner, {"Ada"}}});
//
// Lifetime: handles live until the function that is given the place returns; it has a copy of its
// key (key.h). Thread-safety: plain values.
#pragma once

#include <string_view>

#include "palimpsest/index.h"
#include "palimpsest/key.h"
#include "palimpsest/table.h"

namespace palimpsest {

class Place {
 public:
  /// A row by its key, whether there is one or not; or, by the first columns of a key, the first of
  /// the rows that have them.
  Place(const Table& table, const Key& key) : table_(table.handle_.get()), key_(key) {}
  /// The same of an index: the first entry with these values in its first columns.
  Place(const Index& index, const Key& key)
      : table_(index.table_.get()), index_(index.name_), key_(key) {}

 private:
  friend class Database;

  const detail::TableHandle* table_;
  std::string_view index_;  ///< its name; empty: the table's rows
  Key key_;
};

}  // namespace palimpsest
