#include "engine/catalog/index_build.h"

#include <string>

#include "base/sync_point.h"
#include "btree/cursor.h"
#include "bulk/sort/external_sort.h"
#include "bulk/tree_loader.h"
#include "engine/format/row_values.h"
#include "engine/format/value_text.h"
#include "engine/table/index_entries.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kRowsAtATime = 1000;

class IndexBuild {
 public:
  IndexBuild(txn::Transactions& transactions, txn::Transaction& inside,
             const TableDefinition& table, std::size_t index, const versioning::ReadView* read_view,
             const SortSpace& space)
      : table_(table),
        number_(index),
        format_(*table.format),
        codec_(format_.indexes()[index].codec),
        rows_(*table.rows),
        read_view_(read_view),
        sort_(space.device, {.memory_bytes = space.memory_bytes, .threads = space.threads}),
        fill_(transactions, inside, *table.indexes[index]) {}

  void sort_entries();
  /// The key of two rows, if the index is unique and there is one.
  [[nodiscard]] std::optional<std::string> append_entries();

 private:
  const TableDefinition& table_;
  const std::size_t number_;  ///< of the index
  const TableFormat& format_;
  const IndexCodec& codec_;
  const btree::BTree& rows_;
  const versioning::ReadView* read_view_;
  bulk::ExternalSort sort_;
  bulk::TreeLoader fill_;
};

void IndexBuild::sort_entries() {
  RowValues values;
  KeyMemory memory;
  std::string row;
  btree::Cursor rows(rows_, kRowsAtATime, read_view_);
  std::size_t count = 0;
  for (rows.seek_first(); rows.valid(); rows.next()) {
    if (count++ % kRowsAtATime == 0) {
      fill_.go_on();
    }
    if (rows.read_value(row)) {
      const IndexEntry entry =
          entry_of(table_, number_, values.of(format_, rows.key(), row), rows.key(), memory);
      sort_.add(entry.key, entry.value);
    }
  }
  PALIMPSEST_SYNC_POINT("engine.index.added");
  sort_.finish([this] { fill_.go_on(); });
}

// Entries of an index that is not unique contain the primary key, so only entries of a unique index
// can be equal.
std::optional<std::string> IndexBuild::append_entries() {
  std::string last;
  bool has_last = false;
  while (sort_.next()) {
    if (has_last && sort_.key() == last) {
      return text_of_key(codec_.columns(), last);
    }
    last.assign(sort_.key());
    has_last = true;
    fill_.add({.key = sort_.key(), .value = sort_.value()});
  }
  fill_.finish();
  return std::nullopt;
}

}  // namespace

std::optional<std::string> build_index(txn::Transactions& transactions, txn::Transaction& inside,
                                       const TableDefinition& table, std::size_t index,
                                       const versioning::ReadView* read_view,
                                       const SortSpace& space) {
  IndexBuild build(transactions, inside, table, index, read_view, space);
  build.sort_entries();
  return build.append_entries();
}

}  // namespace palimpsest::engine
