#include "engine/definitions/index_build.h"

#include <algorithm>
#include <span>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/append.h"
#include "btree/cursor.h"
#include "btree/leaf_run_writer.h"
#include "engine/rows/index_entries.h"
#include "engine/rows/kept_records.h"
#include "engine/sort/external_sort.h"
#include "engine/tables/row_values.h"
#include "engine/tables/value_text.h"

namespace palimpsest::engine {
namespace {

using btree::NewRecord;

constexpr std::size_t kRowsAtATime = 1000;
/// Of appending, which others may hold up who need space in the log.
constexpr int kAttempts = 20;
/// That are kept to be appended together, however short: each takes a view beside its bytes.
constexpr std::size_t kEntriesKept = std::size_t{1} << 17U;
/// Where nothing can be appended before the last leaf was split.
constexpr std::size_t kInsertedFirst = 16;

class IndexBuild {
 public:
  IndexBuild(txn::Transactions& transactions, txn::Transaction& inside,
             const TableDefinition& table, std::size_t index, const versioning::Viewer* viewer,
             const SortSpace& space)
      : transactions_(transactions),
        inside_(inside),
        table_(table),
        number_(index),
        format_(*table.format),
        codec_(format_.indexes()[index].codec),
        rows_(*table.rows),
        index_(*table.indexes[index]),
        viewer_(viewer),
        sort_(space.device, {.memory_bytes = space.memory_bytes, .threads = space.threads}) {}

  void sort_entries();
  /// The key that two rows have, if there is one that must not.
  [[nodiscard]] std::optional<std::string> append_entries();

 private:
  /// The maker holds no log back, and has not been told to give up.
  void go_on() {
    inside_.let_log_go();
    inside_.require_view();
  }
  void keep(const NewRecord& entry);
  void append_kept();
  void append_some(std::span<const NewRecord> entries, std::size_t& done);

  txn::Transactions& transactions_;
  txn::Transaction& inside_;
  const TableDefinition& table_;
  const std::size_t number_;  ///< of the index
  const TableFormat& format_;
  const IndexCodec& codec_;
  const btree::BTree& rows_;
  btree::BTree& index_;
  const versioning::Viewer* viewer_;
  ExternalSort sort_;
  KeptRecords kept_;
  btree::LeafRunWriter writer_{index_.descent().pool()};
};

void IndexBuild::sort_entries() {
  RowValues values;
  KeyMemory memory;
  std::string row;
  btree::Cursor rows(rows_, kRowsAtATime, viewer_);
  std::size_t count = 0;
  for (rows.seek_first(); rows.valid(); rows.next()) {
    if (count++ % kRowsAtATime == 0) {
      go_on();
    }
    if (rows.read_value(row)) {
      const IndexEntry entry =
          entry_of(table_, number_, values.of(format_, rows.key(), row), rows.key(), memory);
      sort_.add(entry.key, entry.value);
    }
  }
  PALIMPSEST_SYNC_POINT("engine.index.added");
  sort_.finish([this] { go_on(); });
}

// What is not unique has the primary key in its own: only entries of a unique index can be equal.
std::optional<std::string> IndexBuild::append_entries() {
  std::string last;
  bool has_last = false;
  while (sort_.next()) {
    if (has_last && sort_.key() == last) {
      return text_of_key(codec_.columns(), last);
    }
    last.assign(sort_.key());
    has_last = true;
    keep({.key = sort_.key(), .value = sort_.value()});
  }
  append_kept();
  return std::nullopt;
}

void IndexBuild::keep(const NewRecord& entry) {
  const std::size_t bytes = entry.key.size() + entry.value.size();
  if (!kept_.has_room_for(bytes) || kept_.records().size() == kEntriesKept) {
    append_kept();
  }
  kept_.expect(1, bytes);
  kept_.add(entry);
}

void IndexBuild::append_kept() {
  std::size_t done = 0;
  for (int attempt = 1; done < kept_.records().size(); ++attempt) {
    go_on();
    try {
      append_some(kept_.records().subspan(done), done);
      attempt = 0;
    } catch (const Error& error) {  // told to give way: what `done` counts stays
      if (error.code() != ErrorCode::transaction_too_old || attempt == kAttempts) {
        throw;
      }
    }
  }
  kept_.clear();
}

// What was appended is not undone if this fails: the tree is then emptied.
void IndexBuild::append_some(std::span<const NewRecord> entries, std::size_t& done) {
  const txn::TransactionPtr by =
      transactions_.begin(txn::Durability::asynchronous, txn::Isolation::none);
  by->work_for(inside_);
  by->write_alone(nullptr);
  by->write([&](const btree::WriteContext& context) {
    const bool is_run = btree::is_worth_a_run(entries);
    const std::size_t before = done;
    if (is_run) {
      btree::append(index_, context, entries, writer_, done);
    }
    if (done == before) {
      const std::size_t most = is_run ? kInsertedFirst : kRowsAtATime;
      const std::span some = entries.first(std::min(entries.size(), most));
      const btree::ManyWritten written = index_.insert_many(context, some);
      check(written.done == some.size(), "nobody else knows of an index that is being made");
      done += some.size();
    }
  });
  by->commit();
  PALIMPSEST_SYNC_POINT("engine.index.appended");
}

}  // namespace

std::optional<std::string> build_index(txn::Transactions& transactions, txn::Transaction& inside,
                                       const TableDefinition& table, std::size_t index,
                                       const versioning::Viewer* viewer, const SortSpace& space) {
  IndexBuild build(transactions, inside, table, index, viewer, space);
  build.sort_entries();
  return build.append_entries();
}

}  // namespace palimpsest::engine
