#include "palimpsest/table.h"

#include <fmt/format.h>

#include <utility>

#include "palimpsest/error.h"

#include "engine/api/autocommit.h"
#include "engine/api/bulk_rows.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/api/visiting.h"
#include "engine/table/table_reader.h"
#include "engine/table/table_writer.h"

namespace palimpsest {

using engine::Reads;
using engine::TableWriter;

namespace {

/// Calls write(TableWriter&) in a statement of the transaction, or of one of its own; if the
/// transaction is a bulk, calls in_bulk(Bulk&) instead.
template <class Write, class InBulk>
Outcome write_in(const Transaction* in, const detail::TableHandle& table, const Write& write,
                 const InBulk& in_bulk) {
  if (const detail::InTransaction by = table.writer(in); by.get() != nullptr) {
    if (by.bulk() != nullptr) [[unlikely]] {
      return in_bulk(*by.bulk());
    }
    return TableWriter::statement(*by, table.table(), write);
  }
  return detail::autocommit(table.database(), [&](txn::Transaction& by) {
    return TableWriter::statement(by, table.table(), write);
  });
}

template <class Write>
Outcome write_in(const Transaction* in, const detail::TableHandle& table, const Write& write) {
  return write_in(in, table, write,
                  [&](engine::Bulk& bulk) { return bulk.write(table.table(), write); });
}

/// As write_in(), for a write that calls a function of the caller with a page latched.
template <class Write>
Outcome edit_in(const Transaction* in, const detail::TableHandle& table, const Write& write) {
  return write_in(in, table, [&](const TableWriter& rows) {
    const detail::Visiting visiting(table.database());
    return write(rows);
  });
}

template <class Row>
Outcome insert_into(const Transaction* in, const detail::TableHandle& table, const Row& row) {
  return write_in(
      in, table, [&](const TableWriter& rows) { return rows.insert(row); },
      [&](engine::Bulk& bulk) { return bulk.insert(table.table(), row); });
}

}  // namespace

const detail::TableHandle& Table::handle() const {
  return detail::require_handle(handle_);
}

// Properties

TableSchema Table::schema() const {
  return handle().format()->schema();
}

std::vector<IndexSchema> Table::indexes() const {
  std::vector<IndexSchema> schemas;
  const auto format = handle().format();
  for (const engine::StoredIndex& index : format->stored().indexes) {
    schemas.push_back(index.schema);
  }
  return schemas;
}

Index Table::index(std::string_view name) const {
  static_cast<void>(handle().format()->require_index(name));
  return Index(handle_, std::string(name));
}

std::shared_ptr<const detail::TableFormat> Table::format() const {
  return handle().format();
}

detail::FixedPlace Table::fixed_place(std::string_view name, ColumnType type) const {
  const auto kept = handle().format();
  const detail::TableFormat& format = *kept;
  const auto number = format.schema().find_column(name);
  const auto refuse = [&](std::string_view why) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", column \"{}\": {}", format.schema().name, name, why));
  };
  if (!number) {
    refuse("there is no such column");
  }
  const engine::ColumnPlace& place = format.rows().place(*number);
  if (place.kind == engine::PlaceKind::key) {
    refuse("it is in the key, and must be read by name");
  }
  if (place.type != type) {
    refuse(fmt::format("it is {}, and cannot be read as {}",
                       text_of(format.schema().columns[*number].type), name_of(type)));
  }
  return format.fixed_place(*number);
}

// Reading

std::optional<Row> Table::get_in(const Transaction* in, const Key& key) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(in);
  return engine::TableReader(table.readable(), by.get(), Reads::one_row).get(key);
}

bool Table::read_in(const Transaction* in, const Key& key, ReadRow use) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(in);
  return engine::TableReader(table.readable(), by.get(), Reads::one_row).read(key, use);
}

void Table::read_many_in(const Transaction* in, std::span<const Key> keys, ReadRows use) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(in);
  engine::TableReader(table.readable(), by.get(), Reads::several).read_many(keys, use);
}

void Table::visit_many_in(const Transaction* in, std::span<const Key> keys, ReadRows visit) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(in);
  const engine::TableReader reader(table.readable(), by.get(), Reads::range);
  const detail::Visiting visiting(table.database());
  reader.visit_many(keys, visit);
}

void Table::visit_in(const Transaction* in, const Range& range, VisitRow visit,
                     Direction direction) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(in);
  const engine::TableReader reader(table.readable(), by.get(), Reads::range);
  const detail::Visiting visiting(table.database());
  reader.visit(range, visit, direction);
}

std::uint64_t Table::count_in(const Transaction* in, const Range& range) const {
  std::uint64_t rows = 0;
  const auto count = [&](const RowView&) {
    ++rows;
    return true;
  };
  visit_in(in, range, count, Direction::forward);
  return rows;
}

RangeSize Table::approximate_size(const Range& range) const {
  const detail::TableHandle& table = handle();
  const detail::InTransaction by = table.reader(nullptr);
  return engine::TableReader(by.get(), table.table()).approximate_size(range);
}

// Writing

Outcome Table::insert_in(Transaction* in, const Values& row) const {
  return insert_into(in, handle(), row);
}

Outcome Table::insert_in(Transaction* in, const EncodedRow& row) const {
  return insert_into(in, handle(), row);
}

Outcome Table::insert_many_in(Transaction* in, std::span<const EncodedRow> rows) const {
  return write_in(
      in, handle(), [&](const TableWriter& writer) { return writer.insert_many(rows); },
      [&](engine::Bulk& bulk) { return bulk.insert_many(handle().table(), rows); });
}

Outcome Table::upsert_in(Transaction* in, const Values& row) const {
  return write_in(in, handle(), [&](const TableWriter& rows) { return rows.upsert(row); });
}

Outcome Table::upsert_in(Transaction* in, const EncodedRow& row) const {
  return write_in(in, handle(), [&](const TableWriter& rows) { return rows.upsert(row); });
}

Outcome Table::update_in(Transaction* in, const Key& key, const Changes& changes) const {
  return write_in(in, handle(), [&](const TableWriter& rows) { return rows.update(key, changes); });
}

Outcome Table::modify_in(Transaction* in, const Key& key, EditRow edit) const {
  return edit_in(in, handle(), [&](const TableWriter& rows) { return rows.modify(key, edit); });
}

Outcome Table::modify_many_in(Transaction* in, std::span<const Key> keys, EditRows edit) const {
  return edit_in(in, handle(),
                 [&](const TableWriter& rows) { return rows.modify_many(keys, edit); });
}

Outcome Table::rewrite_in(Transaction* in, const Key& key, RewriteRow rewrite) const {
  return edit_in(in, handle(), [&](const TableWriter& rows) { return rows.rewrite(key, rewrite); });
}

Outcome Table::erase_in(Transaction* in, const Key& key) const {
  return write_in(in, handle(), [&](const TableWriter& rows) { return rows.erase(key); });
}

namespace {

/// Erases the range as of one snapshot, in a transaction of its own.
ErasedRange erase_range_alone(const detail::TableHandle& table, const Range& range) {
  const txn::Isolation isolation = table.database().isolation == txn::Isolation::serializable
                                       ? txn::Isolation::serializable
                                       : txn::Isolation::snapshot;
  ErasedRange erased;
  erased.outcome = detail::autocommit(
      table.database(),
      [&](txn::Transaction& by) {
        return TableWriter::statement(by, table.table(), [&](const TableWriter& rows) {
          erased = rows.erase_range(range);
          return erased.outcome;
        });
      },
      isolation);
  erased.rows = erased.outcome ? erased.rows : 0;
  return erased;
}

/// Erases more rows than versions can be retained for. The bulk has the table to itself, so at
/// every level it erases what exists when it commits.
ErasedRange erase_range_in_bulk(const detail::TableHandle& table, const Range& range) {
  ErasedRange erased;
  erased.outcome = detail::autocommit(
      table.database(),
      [&](txn::Transaction& by) {
        detail::DatabaseState& database = table.database();
        engine::Bulk bulk(database.engine->transactions(), database.engine->tables(), by);
        erased = bulk.erase_range(table.table(), range);
        if (erased.outcome) {
          bulk.publish();
        }
        return erased.outcome;
      },
      txn::Isolation::read_committed);
  return erased;
}

}  // namespace

ErasedRange Table::erase_range_in(Transaction* in, const Range& range) const {
  if (in == nullptr) {
    static_cast<void>(handle().writer(nullptr));
    try {
      return erase_range_alone(handle(), range);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::version_budget_exceeded) {
        throw;
      }
      return erase_range_in_bulk(handle(), range);
    }
  }
  ErasedRange erased;
  const auto erase = [&](const TableWriter& rows) {
    erased = rows.erase_range(range);
    return erased.outcome;
  };
  erased.outcome = write_in(in, handle(), erase, [&](engine::Bulk& bulk) {
    erased = bulk.erase_range(handle().table(), range);
    return erased.outcome;
  });
  erased.rows = erased.outcome ? erased.rows : 0;
  return erased;
}

}  // namespace palimpsest
