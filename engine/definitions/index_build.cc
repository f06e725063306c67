#include "engine/definitions/index_build.h"

#include <fmt/format.h>

#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "btree/cursor.h"
#include "engine/tables/row_values.h"
#include "engine/tables/value_text.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kEntriesAtATime = 1000;

class IndexBuild {
 public:
  IndexBuild(const TableDefinition& table, std::size_t index)
      : format_(*table.format),
        codec_(format_.indexes()[index].codec),
        entries_(*table.indexes[index]) {}

  /// Inserts the entry of one row; false if its key is there.
  [[nodiscard]] bool insert(txn::Transaction& by, ByteView key, ByteView row) {
    const std::span<const Value> values = values_.of(format_, key, row);
    const IndexEntry entry = codec_.encode(values, key, memory_);
    const btree::WriteOutcome outcome = by.insert(entries_, entry.key, entry.value);
    check(!outcome.conflict, "nobody else knows of an index that is being made");
    if (outcome.existed) {
      key_.clear();
      for (const std::size_t column : codec_.columns().columns()) {
        key_.push_back(values[column]);
      }
    }
    return !outcome.existed;
  }
  /// Of the row that insert() had last, and has found there.
  [[nodiscard]] std::string key_text() const { return text_of_values(key_); }

 private:
  const TableFormat& format_;
  const IndexCodec& codec_;
  btree::BTree& entries_;
  RowValues values_;
  KeyMemory memory_{};
  std::vector<Value> key_;
};

}  // namespace

std::optional<std::string> build_index(txn::Transactions& transactions, txn::Transaction& inside,
                                       const TableDefinition& table, std::size_t index) {
  IndexBuild build(table, index);
  btree::Cursor rows(*table.rows, kEntriesAtATime);
  std::string row;
  for (rows.seek_first(); rows.valid();) {
    inside.let_log_go();
    const txn::TransactionPtr by = transactions.begin(txn::Durability::asynchronous);
    by->work_for(inside);
    for (std::size_t i = 0; i < kEntriesAtATime && rows.valid(); ++i, rows.next()) {
      if (rows.read_value(row) && !build.insert(*by, rows.key(), row)) {
        return build.key_text();
      }
    }
    by->commit();
  }
  return std::nullopt;
}

}  // namespace palimpsest::engine
