// A table: rows by their primary key, and its indexes.
//
//   const Table accounts = database.table("account");
//   accounts.insert(transaction, {7, "Ada", Decimal::of(0, 2)}).require();
//   const std::optional<Row> row = accounts.get(transaction, {7});
//   accounts.update(transaction, {7}, {{"balance", Decimal::of(995, 2)}}).require();
//
// Every call exists twice: with a transaction, and without, as a transaction of its own that has
// committed when the call returns (autocommit). An autocommit write retries on conflicts for
// Options::autocommit_patience; on conflicts with a bulk, or with a change of the table's
// definition, for Options::definition_patience if that is longer. Instead of waiting for a
// transaction that this thread has begun and not ended, it throws invalid_argument.
//
// A handle is small, cheap to copy, and stays valid when indexes come and go. Calls that need rows
// throw not_found after the table was dropped, and invalid_argument after Database::close() or
// after a move. It must not outlive its database.
// Callbacks are called before the call returns. They see a copy of the row and may use the engine,
// unless a function says otherwise.
// Thread-safety: all functions, from any thread.
// Failure: Error invalid_argument for keys and rows that do not fit the schema, naming table,
//          column and limit; transaction_too_old; no_space, io_error, corruption, failed. The call
//          then has changed nothing, and the transaction may go on or roll back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/column.h"
#include "palimpsest/cursor.h"
#include "palimpsest/encoded_row.h"
#include "palimpsest/index.h"
#include "palimpsest/key.h"
#include "palimpsest/outcome.h"
#include "palimpsest/row.h"
#include "palimpsest/row_functions.h"
#include "palimpsest/schema.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

/// The approximate size of a range (Table::approximate_size()).
struct RangeSize {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< of keys and rows as they are stored
};

enum class Direction : unsigned char { forward = 1, backward };

template <class Struct>
class TableOf;

class Table {
 public:
  /// Made by Database::table().
  explicit Table(std::shared_ptr<const detail::TableHandle> handle) noexcept
      : handle_(std::move(handle)) {}

  [[nodiscard]] TableSchema schema() const;
  [[nodiscard]] std::vector<IndexSchema> indexes() const;
  /// Throws not_found if there is no index of that name.
  [[nodiscard]] Index index(std::string_view name) const;
  /// A handle to a column outside the key, by its C++ type. Throws invalid_argument if the column
  /// has another type.
  template <FixedType Type>
  [[nodiscard]] Column<Type> column(std::string_view name) const {
    return Column<Type>(fixed_place(name, detail::kFixedTypeOf<Type>));
  }

  // Reading

  /// A copy of the row; nothing if there is none.
  [[nodiscard]] std::optional<Row> get(const Key& key) const { return get_in(nullptr, key); }
  [[nodiscard]] std::optional<Row> get(const Transaction& in, const Key& key) const {
    return get_in(&in, key);
  }
  /// As get(), without the copy: calls use(row) with a view that is valid in that call. False if
  /// there is none.
  bool read(const Key& key, ReadRow use) const { return read_in(nullptr, key, use); }
  bool read(const Transaction& in, const Key& key, ReadRow use) const {
    return read_in(&in, key, use);
  }
  /// Reads many rows, searched for together, so that waits for pages, and cache misses, overlap;
  /// much faster than one by one. Calls use(index of the key, row) for each row that exists, in the
  /// order of the keys.
  void read_many(std::span<const Key> keys, ReadRows use) const {
    read_many_in(nullptr, keys, use);
  }
  void read_many(const Transaction& in, std::span<const Key> keys, ReadRows use) const {
    read_many_in(&in, keys, use);
  }
  /// As read_many(), but shows the rows in their pages: for callers that use a few columns of each.
  /// A page is latched during visit(index of the key, row): `visit` must neither block nor use the
  /// engine; its calls throw invalid_argument there. An exception may leave after some rows were
  /// shown.
  void visit_many(std::span<const Key> keys, ReadRows visit) const {
    visit_many_in(nullptr, keys, visit);
  }
  void visit_many(const Transaction& in, std::span<const Key> keys, ReadRows visit) const {
    visit_many_in(&in, keys, visit);
  }
  /// Calls visit(row) for the rows of the range, in their pages, until it returns false: the
  /// fastest way to read many rows. A page is latched meanwhile: `visit` must neither block nor use
  /// the engine.
  void visit(const Range& range, VisitRow visit, Direction direction = Direction::forward) const {
    visit_in(nullptr, range, visit, direction);
  }
  void visit(const Transaction& in, const Range& range, VisitRow visit,
             Direction direction = Direction::forward) const {
    visit_in(&in, range, visit, direction);
  }
  /// The exact number of rows in a range: visits all of them, and reads large ones.
  [[nodiscard]] std::uint64_t count(const Range& range = Range::all()) const {
    return count_in(nullptr, range);
  }
  [[nodiscard]] std::uint64_t count(const Transaction& in,
                                    const Range& range = Range::all()) const {
    return count_in(&in, range);
  }
  /// The approximate number and bytes of rows, from a few pages on the way to the range's ends,
  /// however long it is. Exact within one page; else within a fifth where neighbouring rows are
  /// about equally long, and less exact the more these differ. Counts the newest state, committed
  /// or not, without erased rows. It adds nothing to what a serializable transaction has read.
  [[nodiscard]] RangeSize approximate_size(const Range& range = Range::all()) const;
  /// `rows_hint`: about how many rows the caller is going to read.
  [[nodiscard]] Cursor cursor(const Range& range = Range::all(), std::size_t rows_hint = 8) const {
    return cursor_in(nullptr, range, rows_hint);
  }
  [[nodiscard]] Cursor cursor(const Transaction& in, const Range& range = Range::all(),
                              std::size_t rows_hint = 8) const {
    return cursor_in(&in, range, rows_hint);
  }

  // Writing

  /// Inserts a row, by the values of all its columns in declared order. Done, exists or conflict.
  Outcome insert(const Values& row) const { return insert_in(nullptr, row); }
  Outcome insert(Transaction& in, const Values& row) const { return insert_in(&in, row); }
  Outcome insert(const EncodedRow& row) const { return insert_in(nullptr, row); }
  Outcome insert(Transaction& in, const EncodedRow& row) const { return insert_in(&in, row); }
  /// Inserts all of these rows, or none; the outcome is that of the first that cannot be inserted.
  /// Rows with neighbouring keys, as the lines of an order, cost much less than one by one.
  Outcome insert_many(std::span<const EncodedRow> rows) const {
    return insert_many_in(nullptr, rows);
  }
  Outcome insert_many(Transaction& in, std::span<const EncodedRow> rows) const {
    return insert_many_in(&in, rows);
  }

  /// Inserts the row, or replaces the one with that key. Done, conflict, or exists if a unique
  /// index has another row with its values.
  Outcome upsert(const Values& row) const { return upsert_in(nullptr, row); }
  Outcome upsert(Transaction& in, const Values& row) const { return upsert_in(&in, row); }
  Outcome upsert(const EncodedRow& row) const { return upsert_in(nullptr, row); }
  Outcome upsert(Transaction& in, const EncodedRow& row) const { return upsert_in(&in, row); }

  /// Sets columns that are not in the key: update({7}, {{"owner", "Ada"}}). Done, absent, conflict,
  /// or exists if a unique index has another row with its values.
  Outcome update(const Key& key, const Changes& changes) const {
    return update_in(nullptr, key, changes);
  }
  Outcome update(Transaction& in, const Key& key, const Changes& changes) const {
    return update_in(&in, key, changes);
  }

  /// Reads and changes a row in one step: edit(row) sets, in place, columns of fixed width that are
  /// in no index. The row's page is latched: `edit` must neither block, nor throw, nor use the
  /// engine; it may be called again, for the row as it is then. Done, absent or conflict. Throws
  /// invalid_argument for a row of more than about a quarter of a page, which does not lie in its
  /// page.
  Outcome modify(const Key& key, EditRow edit) const { return modify_in(nullptr, key, edit); }
  Outcome modify(Transaction& in, const Key& key, EditRow edit) const {
    return modify_in(&in, key, edit);
  }

  /// As modify(), for many rows, searched for together as by read_many(): edit(index of the key,
  /// row) in the order of the keys. All rows change, or none; the outcome is that of the first that
  /// cannot be changed. Rows with neighbouring keys cost least.
  Outcome modify_many(std::span<const Key> keys, EditRows edit) const {
    return modify_many_in(nullptr, keys, edit);
  }
  Outcome modify_many(Transaction& in, std::span<const Key> keys, EditRows edit) const {
    return modify_many_in(&in, keys, edit);
  }

  /// Reads and replaces a row, of any length, in one step: rewrite(row) returns the new bytes. It
  /// must neither block, nor throw, nor use the engine, and may be called again. No other change of
  /// the row comes in between. Outcomes as update().
  Outcome rewrite(const Key& key, RewriteRow rewrite) const {
    return rewrite_in(nullptr, key, rewrite);
  }
  Outcome rewrite(Transaction& in, const Key& key, RewriteRow rewrite) const {
    return rewrite_in(&in, key, rewrite);
  }

  /// Done, absent or conflict.
  Outcome erase(const Key& key) const { return erase_in(nullptr, key); }
  Outcome erase(Transaction& in, const Key& key) const { return erase_in(&in, key); }
  /// Erases the rows of a range that the transaction sees: all, or none if one is in conflict. At
  /// read_committed each page is seen as it is when it is reached. A bulk transaction erases a page
  /// at a time; after an exception it can only be rolled back. Without a transaction, a range with
  /// more rows than versions fit is erased in a bulk, for which other writers to the table wait;
  /// then it also throws gate_timeout, too_many_bulks.
  ErasedRange erase_range(const Range& range) const { return erase_range_in(nullptr, range); }
  ErasedRange erase_range(Transaction& in, const Range& range) const {
    return erase_range_in(&in, range);
  }

 private:
  friend class Place;
  friend class RowEncoder;
  friend class RowSort;
  friend class RowWriter;
  template <class Struct>
  friend class TableOf;

  /// Throws invalid_argument if the table was moved away.
  [[nodiscard]] const detail::TableHandle& handle() const;
  [[nodiscard]] std::shared_ptr<const detail::TableFormat> format() const;
  [[nodiscard]] detail::FixedPlace fixed_place(std::string_view name, ColumnType type) const;
  [[nodiscard]] std::optional<Row> get_in(const Transaction* in, const Key& key) const;
  bool read_in(const Transaction* in, const Key& key, ReadRow use) const;
  void read_many_in(const Transaction* in, std::span<const Key> keys, ReadRows use) const;
  void visit_many_in(const Transaction* in, std::span<const Key> keys, ReadRows visit) const;
  void visit_in(const Transaction* in, const Range& range, VisitRow visit,
                Direction direction) const;
  [[nodiscard]] std::uint64_t count_in(const Transaction* in, const Range& range) const;
  [[nodiscard]] Cursor cursor_in(const Transaction* in, const Range& range,
                                 std::size_t rows_hint) const;
  Outcome insert_in(Transaction* in, const Values& row) const;
  Outcome insert_in(Transaction* in, const EncodedRow& row) const;
  Outcome insert_many_in(Transaction* in, std::span<const EncodedRow> rows) const;
  Outcome upsert_in(Transaction* in, const Values& row) const;
  Outcome upsert_in(Transaction* in, const EncodedRow& row) const;
  Outcome update_in(Transaction* in, const Key& key, const Changes& changes) const;
  Outcome modify_in(Transaction* in, const Key& key, EditRow edit) const;
  Outcome modify_many_in(Transaction* in, std::span<const Key> keys, EditRows edit) const;
  Outcome rewrite_in(Transaction* in, const Key& key, RewriteRow rewrite) const;
  Outcome erase_in(Transaction* in, const Key& key) const;
  ErasedRange erase_range_in(Transaction* in, const Range& range) const;

  std::shared_ptr<const detail::TableHandle> handle_;
};

}  // namespace palimpsest
