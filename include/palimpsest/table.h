// A table: rows by their primary key, and its indexes.
//
//   const Table accounts = database.table("account");
//   accounts.insert(transaction, {7, "Ada", Decimal::of(0, 2)}).require();
//   const std::optional<Row> row = accounts.get(transaction, {7});
//   accounts.update(transaction, {7}, {{"balance", Decimal::of(995, 2)}}).require();
//
// Every call is there twice: within a transaction, and without, as a transaction of its own that
// has committed when the call returns (autocommit). An autocommit write that meets a conflict is
// tried again for Options::autocommit_patience; one with a bulk, or with a change of the table's
// definition, for Options::definition_patience, if that is longer. If it would wait for a
// transaction that this thread has begun and not ended, it throws invalid_argument.
//
// A handle is small, is copied freely, and stays valid when indexes come and go. After its table
// was dropped, every call that needs rows throws not_found, and after Database::close()
// invalid_argument, as after it was moved from. It must not outlive its database.
// Functions given to a table are called during the call, before it returns. They see a copy and may
// use the engine, unless it is said otherwise.
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

/// About how much a range has (Table::approximate_size()).
struct RangeSize {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< of keys and rows as they are stored
};

enum class Direction : unsigned char { forward = 1, backward };

template <class Struct>
class TableOf;

class Table {
 public:
  /// By Database::table().
  explicit Table(std::shared_ptr<const detail::TableHandle> handle) noexcept
      : handle_(std::move(handle)) {}

  [[nodiscard]] TableSchema schema() const;
  [[nodiscard]] std::vector<IndexSchema> indexes() const;
  /// Throws not_found if there is none of that name.
  [[nodiscard]] Index index(std::string_view name) const;
  /// A column that is not in the key, by its C++ type. Throws invalid_argument if it is another
  /// type's.
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
  /// Spares the copy: calls use(row) with a view valid during that call. False if there is none.
  bool read(const Key& key, ReadRow use) const { return read_in(nullptr, key, use); }
  bool read(const Transaction& in, const Key& key, ReadRow use) const {
    return read_in(&in, key, use);
  }
  /// Reads many rows, which are looked for together, so that waits for pages, and for memory,
  /// overlap: use(number of the key, row) for each that there is, in the order of the keys. Much
  /// faster than one by one.
  void read_many(std::span<const Key> keys, ReadRows use) const {
    read_many_in(nullptr, keys, use);
  }
  void read_many(const Transaction& in, std::span<const Key> keys, ReadRows use) const {
    read_many_in(&in, keys, use);
  }
  /// The same where the rows lie in their pages: for who looks at some columns of each. A page is
  /// latched while visit(number of the key, row) is called: it must neither block nor use the
  /// engine, whose calls throw invalid_argument there. Some rows may have been shown when it
  /// throws.
  void visit_many(std::span<const Key> keys, ReadRows visit) const {
    visit_many_in(nullptr, keys, visit);
  }
  void visit_many(const Transaction& in, std::span<const Key> keys, ReadRows visit) const {
    visit_many_in(&in, keys, visit);
  }
  /// Calls visit(row) for the rows of the range where they lie in their pages, until it returns
  /// false: the fastest way to look at many rows. A page is latched meanwhile: `visit` must neither
  /// block nor use the engine.
  void visit(const Range& range, VisitRow visit, Direction direction = Direction::forward) const {
    visit_in(nullptr, range, visit, direction);
  }
  void visit(const Transaction& in, const Range& range, VisitRow visit,
             Direction direction = Direction::forward) const {
    visit_in(&in, range, visit, direction);
  }
  /// How many rows a range has, exactly: all of them are visited, large ones read.
  [[nodiscard]] std::uint64_t count(const Range& range = Range::all()) const {
    return count_in(nullptr, range);
  }
  [[nodiscard]] std::uint64_t count(const Transaction& in,
                                    const Range& range = Range::all()) const {
    return count_in(&in, range);
  }
  /// About how many, and of how many bytes, by a few pages on the way to its ends, however long it
  /// is. Exact within one page; otherwise within a fifth where rows beside each other are about
  /// equally long, and worse the more these differ. Of the newest state, whether it has committed
  /// or not; erased rows do not count. It notes nothing that a serializable transaction has read.
  [[nodiscard]] RangeSize approximate_size(const Range& range = Range::all()) const;
  /// `rows_hint`: how many rows the caller is going to look at, more or less.
  [[nodiscard]] Cursor cursor(const Range& range = Range::all(), std::size_t rows_hint = 8) const {
    return cursor_in(nullptr, range, rows_hint);
  }
  [[nodiscard]] Cursor cursor(const Transaction& in, const Range& range = Range::all(),
                              std::size_t rows_hint = 8) const {
    return cursor_in(&in, range, rows_hint);
  }

  // Writing

  /// A row by the values of all its columns, in declared order. Done, exists or conflict.
  Outcome insert(const Values& row) const { return insert_in(nullptr, row); }
  Outcome insert(Transaction& in, const Values& row) const { return insert_in(&in, row); }
  Outcome insert(const EncodedRow& row) const { return insert_in(nullptr, row); }
  Outcome insert(Transaction& in, const EncodedRow& row) const { return insert_in(&in, row); }
  /// All of these rows, or none: the outcome is that of the first that cannot be inserted. Rows
  /// whose keys follow each other, as the lines of an order, cost much less than one by one.
  Outcome insert_many(std::span<const EncodedRow> rows) const {
    return insert_many_in(nullptr, rows);
  }
  Outcome insert_many(Transaction& in, std::span<const EncodedRow> rows) const {
    return insert_many_in(&in, rows);
  }

  /// Inserts, or replaces the row with that key. Done, conflict, or exists where a unique index
  /// has another row.
  Outcome upsert(const Values& row) const { return upsert_in(nullptr, row); }
  Outcome upsert(Transaction& in, const Values& row) const { return upsert_in(&in, row); }
  Outcome upsert(const EncodedRow& row) const { return upsert_in(nullptr, row); }
  Outcome upsert(Transaction& in, const EncodedRow& row) const { return upsert_in(&in, row); }

  /// Changes columns that are not in the key: update({7}, {{"owner", "Ada"}}). Done, absent,
  /// conflict, or exists where a unique index has another row.
  Outcome update(const Key& key, const Changes& changes) const {
    return update_in(nullptr, key, changes);
  }
  Outcome update(Transaction& in, const Key& key, const Changes& changes) const {
    return update_in(&in, key, changes);
  }

  /// Reads and changes a row in one step: edit(row) sets columns of fixed width, which are in no
  /// index, in place. The row's page is latched: `edit` must neither block, nor throw, nor use the
  /// engine; it may be called again, for the row as it is then. Done, absent or conflict. A row of
  /// more than about a quarter of a page does not lie in its page, and is refused:
  /// invalid_argument.
  Outcome modify(const Key& key, EditRow edit) const { return modify_in(nullptr, key, edit); }
  Outcome modify(Transaction& in, const Key& key, EditRow edit) const {
    return modify_in(&in, key, edit);
  }

  /// The same for many rows, which are looked for together, as by read_many(): edit(number of the
  /// key, row) in the order of the keys. All of these rows, or none: the outcome is that of the
  /// first that cannot be changed. Rows that follow each other, as the lines of an order, cost
  /// least.
  Outcome modify_many(std::span<const Key> keys, EditRows edit) const {
    return modify_many_in(nullptr, keys, edit);
  }
  Outcome modify_many(Transaction& in, std::span<const Key> keys, EditRows edit) const {
    return modify_many_in(&in, keys, edit);
  }

  /// Reads and replaces a row in one step, of any length: rewrite(row) returns the new bytes; it
  /// must neither block, nor throw, nor use the engine, and may be called again. Nobody else
  /// changes the row in between. Outcomes as update().
  Outcome rewrite(const Key& key, RewriteRow rewrite) const {
    return rewrite_in(nullptr, key, rewrite);
  }
  Outcome rewrite(Transaction& in, const Key& key, RewriteRow rewrite) const {
    return rewrite_in(&in, key, rewrite);
  }

  /// Done, absent or conflict.
  Outcome erase(const Key& key) const { return erase_in(nullptr, key); }
  Outcome erase(Transaction& in, const Key& key) const { return erase_in(&in, key); }
  /// Erases the rows of a range, as the transaction sees it: all, or none if one is in conflict. At
  /// read_committed it sees each page as it is by then. A bulk transaction erases a page at a time;
  /// one that throws half-way can only be rolled back. Without a transaction, a range of more rows
  /// than versions can be kept of is erased in a bulk, which others that write to the table wait
  /// for; then it also throws gate_timeout, too_many_bulks.
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
