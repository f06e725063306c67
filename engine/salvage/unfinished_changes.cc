#include "engine/salvage/unfinished_changes.h"

#include <utility>

#include "palimpsest/error.h"

#include "btree/log/tree_record.h"
#include "engine/salvage/tree_order.h"
#include "wal/log_reader.h"
#include "wal/transaction_record.h"

namespace palimpsest::engine {
namespace {

/// A change, and the one to be undone after it.
struct Taken {
  std::optional<UnfinishedChange> change;  ///< nothing: the making of a tree
  Lsn next{wal::kNoLsn};
};

/// Nothing if the log holds no such change there.
std::optional<Taken> take(const wal::RecordView& record, Lsn lsn, std::uint32_t page_size) {
  const auto decoded = wal::decode(record);
  btree::TreeRecord tree;
  if (!decoded || decoded->role != wal::RecordRole::change ||
      decoded->body_kind != wal::BodyKind::tree || decoded->back > raw(lsn) ||
      btree::parse_tree_record(decoded->body, page_size, tree) || !tree.is_undoable()) {
    return std::nullopt;
  }
  Taken taken;
  if (decoded->back != 0) {
    taken.next = Lsn{raw(lsn) - decoded->back};
  }
  if (tree.is_record_change()) {
    const ByteView body = as_view(decoded->body.data(), decoded->body.size());
    taken.change = {.tree = tree.tree, .key = std::string(tree.key), .body = std::string(body)};
  }
  return taken;
}

/// Whether all of them could be read.
bool visit(const LoserTransaction& loser, const wal::Segments& segments, std::uint32_t page_size,
           FunctionRef<void(const UnfinishedChange&)> show) {
  wal::LogCursor cursor;
  for (Lsn lsn = loser.undo_next; lsn != wal::kNoLsn;) {
    std::optional<Taken> taken;
    try {
      taken = take(cursor.find(segments, loser.name.slot, lsn, loser.newest_chunk), lsn, page_size);
    } catch (const Error&) {
      return false;
    }
    if (!taken) {
      return false;
    }
    if (taken->change) {
      show(*taken->change);
    }
    lsn = taken->next;
  }
  return true;
}

}  // namespace

std::uint64_t visit_unfinished(const std::vector<LoserTransaction>& losers,
                               const wal::Segments& segments, std::uint32_t page_size,
                               FunctionRef<void(const UnfinishedChange&)> show) {
  std::uint64_t unreadable = 0;
  for (const LoserTransaction& loser : losers) {
    if (!visit(loser, segments, page_size, show)) {
      ++unreadable;
    }
  }
  return unreadable;
}

// Those of one key stay in the order in which they came.
TreeChanges::TreeChanges(const std::vector<UnfinishedChange>& changes) {
  for (const UnfinishedChange& change : changes) {
    changes_.emplace(change.key, change);
  }
}

// Records of one key stay in the order in which they came.
void SortedChanges::add(const UnfinishedChange& change) {
  sort_.add(in_tree_order(change.tree, change.key), change.body);
}

void SortedChanges::finish() {
  sort_.finish();
  read();
}

void SortedChanges::begin(TreeId tree) {
  tree_ = tree;
  while (change_ && change_->tree < tree) {
    read();
  }
}

void SortedChanges::read() {
  change_.reset();
  if (sort_.next()) {
    change_ = {.tree = tree_in_order(sort_.key()),
               .key = std::string(key_in_order(sort_.key())),
               .body = std::string(sort_.value())};
  }
}

}  // namespace palimpsest::engine
