// Writes to a table, each a statement of its own.
#pragma once

#include <span>

#include "engine/table/table_writer.h"

namespace palimpsest::engine::test {

class RowStatements {
 public:
  RowStatements(txn::Transaction& in, const TableState& table) noexcept
      : in_(&in), table_(&table) {}

  Outcome insert(const Values& row) const {
    return run([&](const TableWriter& writer) { return writer.insert(row); });
  }
  Outcome insert(const EncodedRow& row) const {
    return run([&](const TableWriter& writer) { return writer.insert(row); });
  }
  Outcome insert_many(std::span<const EncodedRow> rows) const {
    return run([&](const TableWriter& writer) { return writer.insert_many(rows); });
  }
  Outcome upsert(const Values& row) const {
    return run([&](const TableWriter& writer) { return writer.upsert(row); });
  }
  Outcome upsert(const EncodedRow& row) const {
    return run([&](const TableWriter& writer) { return writer.upsert(row); });
  }
  Outcome update(const Key& key, const Changes& changes) const {
    return run([&](const TableWriter& writer) { return writer.update(key, changes); });
  }
  Outcome modify(const Key& key, EditRow edit) const {
    return run([&](const TableWriter& writer) { return writer.modify(key, edit); });
  }
  Outcome modify_many(std::span<const Key> keys, EditRows edit) const {
    return run([&](const TableWriter& writer) { return writer.modify_many(keys, edit); });
  }
  Outcome rewrite(const Key& key, RewriteRow rewrite) const {
    return run([&](const TableWriter& writer) { return writer.rewrite(key, rewrite); });
  }
  Outcome erase(const Key& key) const {
    return run([&](const TableWriter& writer) { return writer.erase(key); });
  }
  ErasedRange erase_range(const Range& range) const {
    ErasedRange erased;
    erased.outcome = run([&](const TableWriter& writer) {
      erased = writer.erase_range(range);
      return erased.outcome;
    });
    return erased;
  }

 private:
  template <class Write>
  Outcome run(const Write& write) const {
    return TableWriter::statement(*in_, *table_, write);
  }

  txn::Transaction* in_;
  const TableState* table_;
};

}  // namespace palimpsest::engine::test
