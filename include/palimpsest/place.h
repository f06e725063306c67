// A place in a table or index, occupied or not: what Database::prefetch() brings into memory.
//
//   database.prefetch({{accounts, {7}}, {branches, {3}}, {by_owner, {"Ada"}}});
//
// Lifetime: the handles must live until the function that is given the place returns; the key is
// copied (key.h). Thread-safety: plain values.
#pragma once

#include <string_view>

#include "palimpsest/index.h"
#include "palimpsest/key.h"
#include "palimpsest/table.h"

namespace palimpsest {

class Place {
 public:
  /// The row with this key, whether it exists or not; if `key` is the first columns of a key, the
  /// first row that has them.
  Place(const Table& table, const Key& key) : table_(table.handle_.get()), key_(key) {}
  /// In an index: the first entry with these values in its first columns.
  Place(const Index& index, const Key& key)
      : table_(index.table_.get()), index_(index.name_), key_(key) {}

 private:
  friend class Database;

  const detail::TableHandle* table_;
  std::string_view index_;  ///< its name; empty: the table's rows
  Key key_;
};

}  // namespace palimpsest
