// An index of a table: its rows in another order, found by other columns.
//
//   const Index by_owner = accounts.index("by_owner");
//   for (Cursor cursor = by_owner.cursor(Range::prefix({"Ada"})); cursor.valid(); cursor.next()) {
//     use(cursor.row());                // a row of the table
//   }
//
// A handle like a Table: small, cheap to copy. After the index was dropped, every call throws
// not_found. Each call exists twice, with a transaction and without.
// Thread-safety: all functions, from any thread. Failure: as table.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "palimpsest/cursor.h"
#include "palimpsest/key.h"
#include "palimpsest/row.h"
#include "palimpsest/schema.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

namespace detail {
class TableHandle;  // the engine's
}

/// Another order of a table's rows: a handle.
class Index {
 public:
  Index(std::shared_ptr<const detail::TableHandle> table, std::string name)
      : table_(std::move(table)), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] IndexSchema schema() const;

  /// The row with these values in all columns of the index, which must be unique.
  [[nodiscard]] std::optional<Row> get(const Key& key) const { return get_in(nullptr, key); }
  [[nodiscard]] std::optional<Row> get(const Transaction& in, const Key& key) const {
    return get_in(&in, key);
  }

  [[nodiscard]] Cursor cursor(const Range& range = Range::all()) const {
    return cursor_in(nullptr, range);
  }
  [[nodiscard]] Cursor cursor(const Transaction& in, const Range& range = Range::all()) const {
    return cursor_in(&in, range);
  }

 private:
  friend class Place;

  [[nodiscard]] std::optional<Row> get_in(const Transaction* in, const Key& key) const;
  [[nodiscard]] Cursor cursor_in(const Transaction* in, const Range& range) const;

  std::shared_ptr<const detail::TableHandle> table_;
  std::string name_;
};

}  // namespace palimpsest
