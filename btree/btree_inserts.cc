// Inserts several records into a tree (btree.h): one visit of a leaf for all that belong there.
#include <algorithm>

#include "btree/btree.h"
#include "btree/leaf_entries.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::kNoWriter;

namespace {

/// The most that one visit inserts, which bounds how long the leaf is held.
constexpr std::size_t kBatchMax = 16;

/// Lengths of the first records that one visit may insert.
struct Batch {
  std::size_t count = 0;
  std::size_t key_bytes = 0;     ///< of the longest key
  std::size_t record_bytes = 0;  ///< of the longest record
};

/// Takes no more than would fill a page.
Batch batch_of(std::span<const NewRecord> records, std::uint32_t page_size) noexcept {
  Batch batch;
  for (const auto& [key, value] : records.first(std::min(records.size(), kBatchMax))) {
    const std::size_t longest = std::max(batch.record_bytes, key.size() + value.size());
    if (longest > record_bytes_max(page_size) || longest * (batch.count + 1) > page_size) {
      break;
    }
    batch.record_bytes = longest;
    batch.key_bytes = std::max(batch.key_bytes, key.size());
    ++batch.count;
  }
  return batch;
}

}  // namespace

// A record that a visit leaves out is inserted alone: it belongs to another leaf, is refused, needs
// room, replaces a ghost, or is large.
ManyWritten BTree::insert_many(const WriteContext& by, std::span<const NewRecord> records,
                               LastLeaf* last) {
  std::size_t done = 0;
  while (done < records.size()) {
    done += insert_in_one_leaf(by, records.subspan(done), last);
    if (done < records.size()) {
      const auto& [key, value] = records[done];
      WriteOutcome one = insert(by, key, value, last);
      if (one.existed || one.conflict) {
        return {.done = done, .refused = std::move(one)};
      }
      ++done;
    }
  }
  return {.done = done, .refused = {}};
}

// Returns how many were inserted.
std::size_t BTree::insert_in_one_leaf(const WriteContext& by, std::span<const NewRecord> records,
                                      LastLeaf* last) {
  const Batch batch = batch_of(records, page_size());
  if (batch.count < 2) {
    return 0;
  }
  for (const NewRecord& record : records.first(batch.count)) {
    check_key(record.key);
  }
  by.prepare_inserts(batch.count, batch.key_bytes, batch.record_bytes);
  ExclusivePage leaf = exclusive_leaf(records.front().key, last);
  if (resolver_.is_in_the_way(by, leaf, records.front().key)) [[unlikely]] {
    LeafEntries(leaf, page_size()).release_unwritten();
    return 0;  // the first is inserted alone, and resolves it
  }
  std::size_t done = 0;
  SlotIndex slot = 0;
  for (const auto& [key, value] : records.first(batch.count)) {
    if (!LeafView(leaf.page(), page_size()).covers(key)) {
      break;
    }
    RecordChange change(by, leaf, descent_.pool().space(), key, page_size());
    if (change.has_slot() || change.conflicting_writer() != kNoWriter ||
        !change.store({.value = value})) {
      break;
    }
    slot = change.slot();
    ++done;
  }
  if (done == 0) {
    LeafEntries(leaf, page_size()).release_unwritten();
  } else {
    let_go(by, std::move(leaf), records[done - 1].key, slot, last);
  }
  return done;
}

}  // namespace palimpsest::btree
