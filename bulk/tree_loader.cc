#include "bulk/tree_loader.h"

#include <algorithm>
#include <array>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "bulk/append.h"

namespace palimpsest::bulk {
namespace {

using btree::NewRecord;

constexpr std::size_t kInsertedAtATime = 1000;
/// Attempts at appending: transactions that need log space may make it give way.
constexpr int kAttempts = 20;
/// Records buffered to be appended together, however short: each takes a view in addition to its
/// bytes.
constexpr std::size_t kRecordsKept = std::size_t{1} << 17U;
/// Records inserted where nothing can be appended before the last leaf was split.
constexpr std::size_t kInsertedFirst = 16;

}  // namespace

void TreeLoader::go_on() {
  maker_.let_log_go();
  maker_.require_view();
}

void TreeLoader::add(const NewRecord& record) {
  const std::size_t bytes = record.key.size() + record.value.size();
  if (!kept_.has_room_for(bytes) || kept_.records().size() == kRecordsKept) {
    append_kept();
  }
  if (!kept_.has_room_for(bytes)) {
    append_all(std::array{record});  // larger than the buffer
    return;
  }
  kept_.expect(1, bytes);
  kept_.add(record);
}

void TreeLoader::finish() {
  append_kept();
}

void TreeLoader::append_kept() {
  append_all(kept_.records());
  kept_.clear();
}

void TreeLoader::append_all(std::span<const NewRecord> records) {
  std::size_t done = 0;
  for (int attempt = 1; done < records.size(); ++attempt) {
    go_on();
    try {
      append_some(records.subspan(done), done);
      attempt = 0;
    } catch (const Error& error) {  // it had to give way; the records counted in `done` stay
      if (error.code() != ErrorCode::transaction_too_old || attempt == kAttempts) {
        throw;
      }
    }
  }
}

// If this fails, what was appended is not undone: the tree is emptied as a whole.
void TreeLoader::append_some(std::span<const NewRecord> records, std::size_t& done) {
  const txn::TransactionPtr by =
      transactions_.begin(txn::Durability::asynchronous, txn::Isolation::none);
  by->work_for(maker_);
  by->write_alone(nullptr);
  std::size_t inserted = 0;
  by->write([&](const btree::WriteContext& context) {
    const bool is_run = btree::is_worth_a_run(records);
    const std::size_t before = done;
    if (is_run) {
      append(tree_, context, records, writer_, done);
    }
    if (done == before) {
      const std::size_t most = is_run ? kInsertedFirst : kInsertedAtATime;
      const std::span some = records.first(std::min(records.size(), most));
      const btree::ManyWritten written = tree_.insert_many(context, some);
      check(written.done == some.size(), "only its loader uses a tree that is being filled");
      inserted = some.size();
    }
  });
  by->commit();
  done += inserted;
  PALIMPSEST_SYNC_POINT("engine.tree.appended");
}

}  // namespace palimpsest::bulk
