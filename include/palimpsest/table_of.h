// Rows as C++ structs: columns are mapped to members once, and then copied without lookups.
//
//   struct Account {
//     std::int64_t id = 0;
//     std::string owner{};
//     Decimal balance{};
//     std::optional<Date> closed{};
//   };
//   const TableOf<Account> accounts(database.table("account"), {{"id", &Account::id},
//                                                               {"owner", &Account::owner},
//                                                               {"balance", &Account::balance},
//                                                               {"closed", &Account::closed}});
//   accounts.insert(transaction, {.id = 7, .owner = "Ada"}).require();
//   std::optional<Account> ada = accounts.get(transaction, {7});
//   accounts.modify(transaction, {7}, [](Account& account) { account.balance += fee; }).require();
//
// A member has the type of its column: bool, std::int8_t to std::int64_t, float, double, Date,
// Timestamp, Decimal; std::string for text and bytes; std::array<char, n> for character(n), padding
// included; an enum for integers of its width; std::optional of these for nullable columns, and
// only for those. Numbers, dates and arrays that are adjacent both in the struct and in the table
// are copied at once.
// Columns without a member are not read, and keep their values when a row is modified; inserting
// needs members for all columns. Members without a column keep their default values.
//
// Small, cheap to copy; must not outlive its database. Made for the table's columns at that time:
// after Transaction::alter_table(), rows with other columns are refused, and a new TableOf is
// needed.
// Thread-safety: all functions, from any thread.
// Failure: the constructor throws Error invalid_argument, naming table and column, for columns that
//          do not exist or are repeated, and for members of another type; the functions do so for
//          values that a column cannot hold, and for rows with other columns. Otherwise as table.h.
#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "palimpsest/key.h"
#include "palimpsest/outcome.h"
#include "palimpsest/row.h"
#include "palimpsest/struct_map.h"
#include "palimpsest/table.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

template <class Struct>
class TableOf {
 public:
  /// A column and its member: {"id", &Account::id}.
  using Member = detail::MemberOf<Struct>;

  TableOf(Table table, std::initializer_list<Member> members)
      : table_(std::move(table)), map_(table_.format(), members) {}

  /// The table itself: for ranges, indexes and erasing. of() converts its rows.
  [[nodiscard]] const Table& table() const noexcept { return table_; }

  // Reading

  /// A row of the table as a struct, which owns its values.
  [[nodiscard]] Struct of(const RowView& row) const { return map_.of(row); }
  /// As of(), into an existing struct, reusing the memory of its texts.
  void read(const RowView& row, Struct& into) const { map_.read(row, into); }
  /// Returns nothing if there is no such row.
  [[nodiscard]] std::optional<Struct> get(const Key& key) const { return get_in(nullptr, key); }
  [[nodiscard]] std::optional<Struct> get(const Transaction& in, const Key& key) const {
    return get_in(&in, key);
  }

  // Writing: outcomes as those of Table.

  Outcome insert(const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return table_.insert(encoded(bytes));
  }
  Outcome insert(Transaction& in, const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return table_.insert(in, encoded(bytes));
  }
  Outcome insert_many(std::span<const Struct> rows) const {
    return with_bytes_of(rows,
                         [&](std::span<const EncodedRow> all) { return table_.insert_many(all); });
  }
  Outcome insert_many(Transaction& in, std::span<const Struct> rows) const {
    return with_bytes_of(
        rows, [&](std::span<const EncodedRow> all) { return table_.insert_many(in, all); });
  }
  Outcome upsert(const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return table_.upsert(encoded(bytes));
  }
  Outcome upsert(Transaction& in, const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return table_.upsert(in, encoded(bytes));
  }
  /// Replaces the row that has the struct's key. Done, absent, conflict, or exists if a unique
  /// index has another row with its values.
  Outcome update(const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return rewrite_in(
        [&](RewriteRow rewrite) { return table_.rewrite(Key::encoded(bytes.key), rewrite); },
        [&](const RowView& stored) { return replaced(stored, bytes); });
  }
  Outcome update(Transaction& in, const Struct& row) const {
    const detail::StructBytes bytes = map_.encode(row);
    return rewrite_in(
        [&](RewriteRow rewrite) { return table_.rewrite(in, Key::encoded(bytes.key), rewrite); },
        [&](const RowView& stored) { return replaced(stored, bytes); });
  }

  /// Reads a row, calls edit(Struct&) and writes the result, in one step: no other change of the
  /// row comes in between. The row's page is latched: `edit` must neither block nor use the engine,
  /// and must not change the key. It may be called again, on the row as it is then. An exception
  /// from it is rethrown, and the row stays as it was. Outcomes as update().
  template <class Edit>
    requires std::is_invocable_v<Edit&, Struct&>
  Outcome modify(const Key& key, Edit&& edit) const {
    return modify_in([&](RewriteRow rewrite) { return table_.rewrite(key, rewrite); }, edit);
  }
  template <class Edit>
    requires std::is_invocable_v<Edit&, Struct&>
  Outcome modify(Transaction& in, const Key& key, Edit&& edit) const {
    return modify_in([&](RewriteRow rewrite) { return table_.rewrite(in, key, rewrite); }, edit);
  }

  /// Done, absent or conflict.
  Outcome erase(const Key& key) const { return table_.erase(key); }
  Outcome erase(Transaction& in, const Key& key) const { return table_.erase(in, key); }

 private:
  [[nodiscard]] EncodedRow encoded(const detail::StructBytes& row) const {
    return EncodedRow::of(row.key, row.bytes, map_.layout());
  }
  /// The new bytes of a row that has the struct's columns.
  [[nodiscard]] std::string_view replaced(const RowView& row, const detail::StructBytes& by) const {
    map_.require(row);
    return by.bytes;
  }

  template <class Use>
  [[nodiscard]] Outcome with_bytes_of(std::span<const Struct> rows, const Use& use) const {
    detail::StructBytes one;
    std::string bytes;  // of all rows, each behind its key
    std::vector<std::pair<std::size_t, std::size_t>> ends;
    ends.reserve(rows.size());
    for (const Struct& row : rows) {
      map_.encode(row, one);
      const std::size_t end_of_key = bytes.append(one.key).size();
      ends.emplace_back(end_of_key, bytes.append(one.bytes).size());
    }
    std::vector<EncodedRow> views;
    views.reserve(rows.size());
    std::size_t begin = 0;
    for (const auto& [end_of_key, end] : ends) {
      const std::string_view row = std::string_view(bytes).substr(begin, end - begin);
      views.push_back(EncodedRow::of(row.substr(0, end_of_key - begin),
                                     row.substr(end_of_key - begin), map_.layout()));
      begin = end;
    }
    return use(views);
  }

  [[nodiscard]] std::optional<Struct> get_in(const Transaction* in, const Key& key) const {
    std::optional<Struct> found;
    const auto use = [&](const RowView& row) { map_.read(row, found.emplace()); };
    static_cast<void>(in != nullptr ? table_.read(*in, key, use) : table_.read(key, use));
    return found;
  }

  template <class Rewrite, class Edit>
  Outcome modify_in(const Rewrite& rewrite, Edit& edit) const {
    std::string bytes;
    return rewrite_in(rewrite, [&](const RowView& row) -> std::string_view {
      Struct value = map_.of(row);
      edit(value);
      map_.change(row, value, bytes);
      return bytes;
    });
  }

  /// Catches exceptions under the latch and rethrows them after the call.
  template <class Rewrite, class Replace>
  Outcome rewrite_in(const Rewrite& rewrite, const Replace& replace) const {
    std::exception_ptr thrown;
    Outcome outcome = rewrite([&](const RowView& row) -> std::string_view {
      thrown = nullptr;
      try {
        return replace(row);
      } catch (...) {
        thrown = std::current_exception();
        return row.bytes();
      }
    });
    if (thrown != nullptr) {
      std::rethrow_exception(thrown);
    }
    return outcome;
  }

  Table table_;
  detail::StructMap<Struct> map_;
};

}  // namespace palimpsest
