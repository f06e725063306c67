#include "btree/btree.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "palimpsest/error.h"

#include "btree/leaf_entries.h"
#include "btree/log/tree_undo.h"
#include "btree/log_change.h"
#include "btree/node/node_print.h"
#include "btree/prefetch_leaves.h"
#include "btree/visible_record.h"
#include "btree/with_room.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::PageType;
using versioning::kNoWriter;

namespace {

/// Contended writes at changing slots of a leaf after which it is split although it is not full
/// ("Contention and Space Management in B-Trees", CIDR 2021).
constexpr std::uint8_t kContentionMax = 64;

/// Every so many removals, a leaf that stays thin because its neighbours are full is tried again.
constexpr SlotIndex kMergeEvery = 8;

/// Number of ghosts of a leaf, and of further ghosts, after which a removal looks for idle ones.
constexpr std::uint32_t kPurgeEvery = 8;
constexpr std::uint32_t kPurgesOfLeaf = 4;  ///< at least, while all its records are removed

[[noreturn]] void refuse_undo_creation(TreeId id) {
  throw Error(
      ErrorCode::corruption,
      fmt::format("the creation of tree {} cannot be undone: it has records, or another root",
                  raw(id)));
}

/// After how many more ghosts those of a leaf are purged. Larger for a leaf where an old reader has
/// repeatedly prevented the purge.
std::uint32_t purge_every(const ExclusivePage& leaf, std::uint32_t page_size) noexcept {
  const versioning::MappingTable* const table = table_of(leaf.frame());
  if (table == nullptr || table->purges_in_vain() == 0) {
    return kPurgeEvery;
  }
  const std::uint32_t records = LeafView(leaf.page(), page_size).count();
  return std::min(kPurgeEvery << table->purges_in_vain(),
                  std::max(kPurgeEvery, records / kPurgesOfLeaf));
}

}  // namespace

BTree::BTree(const Descent& descent, std::unique_ptr<Shortcuts> shortcuts,
             LargeValueStore& large_values, TreeId id)
    : shortcuts_(std::move(shortcuts)),
      ghost_leaf_notes_(std::make_unique<GhostLeafNotes>()),
      descent_(descent),
      structure_(descent_, id),
      resolver_(descent_),
      large_values_(&large_values),
      id_(id) {}

BTree BTree::create(buffer::BufferPool& pool, LargeValueStore& large_values, TreeId id,
                    const WriteContext& by, versioning::BulkEpochs* epochs) {
  if (by.log() != nullptr) {
    by.log()->reserve({.change_bytes = LoggedFormatRoot::encoded_bytes(), .system_bytes = 0});
  }
  auto shortcuts = std::make_unique<Shortcuts>();
  auto reservation = with_room(by, 1, [&] { return pool.reserve(1); });
  buffer::TreeRoot::Made made = buffer::TreeRoot::make(pool, reservation, PageType::tree_leaf, id);
  ExclusivePage root = std::move(made.page);
  const PageId page = root.frame().page_id.load(std::memory_order_relaxed);
  LeafNode(root.modify(), pool.page_size_bytes()).init(page, id, ByteView(), std::nullopt);
  if (by.log() != nullptr) {
    auto space = pool.space().change();
    space.take({page, 1}, log_change(by, root, LoggedFormatRoot{id, page}));
  }
  const Descent descent(made.root, id, epochs, shortcuts.get());
  return BTree(descent, std::move(shortcuts), large_values, id);
}

BTree BTree::open(buffer::BufferPool& pool, LargeValueStore& large_values, TreeId id, PageId root,
                  versioning::BulkEpochs* epochs) {
  auto shortcuts = std::make_unique<Shortcuts>();
  const Descent descent(buffer::TreeRoot::open(pool, root, id), id, epochs, shortcuts.get());
  return BTree(descent, std::move(shortcuts), large_values, id);
}

void BTree::refuse_key(ByteView key) const {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("a key of {} bytes: keys have 1 to {} bytes with pages of {} bytes",
                          key.size(), key_bytes_max(page_size()), page_size()));
}

// Writing

ExclusivePage BTree::exclusive_leaf(ByteView key, LastLeaf* last) const {
  if (last != nullptr && last->covers(key)) {
    auto known = remembered(*last);
    if (known) {
      auto leaf = (*std::move(known)).to_exclusive();
      if (leaf) {
        leaf->frame().touch();
        last->count_hit();
        return *std::move(leaf);
      }
    }
  }
  return descent_.leaf<ExclusivePage>(Target{key});
}

ExclusivePage BTree::leaf_to_write(const WriteContext& by, ByteView key, LastLeaf* last) {
  for (;;) {
    by.prepare(key, page_size());
    ExclusivePage leaf = exclusive_leaf(key, last);
    if (!resolver_.is_in_the_way(by, leaf, key)) [[likely]] {
      return leaf;
    }
    resolver_.resolve_for(by, std::move(leaf), key);
  }
}

// Ends a write: remembers the leaf, and splits it if too many writers contend for it. The write is
// done, so errors are ignored: both are optional.
void BTree::let_go(const WriteContext& by, ExclusivePage leaf, ByteView key, SlotIndex slot,
                   LastLeaf* last) noexcept {
  LeafEntries(leaf, page_size()).finish(by.writer());
  buffer::Frame& frame = leaf.frame();
  if (last != nullptr) {
    const LeafView view(leaf.page(), page_size());
    last->remember(descent_.pool().index_of(frame), leaf.version_after_release(),
                   view.lower_fence(),
                   view.upper_is_infinite() ? std::nullopt : std::optional(view.upper_fence()));
  }
  if (!leaf.was_contended()) [[likely]] {
    return;
  }
  frame.count_contention(static_cast<std::uint16_t>(slot));
  if (frame.contention.load(std::memory_order_relaxed) >= kContentionMax) {
    frame.contention.store(0, std::memory_order_relaxed);
    leaf.release();
    try {
      if (by.try_prepare_structure_change(page_size())) {
        structure_.split_leaf(by, key);
      }
    } catch (const std::exception&) {
      return;  // the leaf stays as it is
    }
  }
}

Written BTree::write(const WriteContext& by, ByteView key, ByteView value, WriteMode mode,
                     LastLeaf* last) {
  check_key(key);
  if (key.size() + value.size() <= record_bytes_max(page_size())) [[likely]] {
    return write_stored(by, key, {.value = value}, mode, last);
  }
  const auto large = with_room(by, extent_blocks(value.size(), page_size()), [&] {
    return by.log() != nullptr ? large_values_->write_for_commit(value)
                               : large_values_->write(value);
  });
  const EncodedDescriptor encoded = large.encode();
  try {
    if (by.log() != nullptr) {
      by.large_values().wrote = true;
    }
    Written written =
        write_stored(by, key, {.value = encoded.view(), .flags = kLargeValue}, mode, last);
    const bool refused = written.existed ? mode == WriteMode::insert : mode == WriteMode::update;
    if (refused || written.conflicting_writer != kNoWriter) {
      large_values_->free(large);  // no record names it
    }
    return written;
  } catch (...) {
    large_values_->free(large);
    throw;
  }
}

Written BTree::write_stored(const WriteContext& by, ByteView key, const RecordState& stored,
                            WriteMode mode, LastLeaf* last) {
  for (;;) {
    ExclusivePage leaf = leaf_to_write(by, key, last);
    RecordChange change(by, leaf, descent_.pool().space(), key, page_size());
    Written written{.existed = change.exists(), .conflicting_writer = change.conflicting_writer()};
    const bool refused = written.existed ? mode == WriteMode::insert : mode == WriteMode::update;
    if (refused || written.conflicting_writer != kNoWriter) {
      change.release_unwritten();
      return written;
    }
    if (change.store(stored) || (change.release_ended() && change.store(stored))) {
      written.freed = change.freed();
      let_go(by, std::move(leaf), key, change.slot(), last);
      return written;
    }
    const bool has_slot = change.has_slot();
    change.release_unwritten();
    with_room(by, 1, [&] { make_room(by, key, stored, has_slot); });
  }
}

// Purges ghosts that no reader needs; without any, splits the leaf.
void BTree::make_room(const WriteContext& by, ByteView key, const RecordState& stored,
                      bool has_slot) {
  if (by.can_be_undone() &&
      purge_ghosts(by, key, [](const LeafView&, SlotIndex) { return true; }) != 0) {
    return;
  }
  if (has_slot) {
    structure_.split_leaf(by, key);
  } else {
    structure_.make_room(by, key, stored.value.size());
  }
}

// Frees a large value that no reader can find any more.
void BTree::finish(const Written& written) {
  if (written.freed) {
    large_values_->free(*written.freed);
  }
}

bool BTree::insert(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write({}, key, value, WriteMode::insert, last);
  finish(written);  // a ghost's large value
  return !written.existed;
}

bool BTree::upsert(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write({}, key, value, WriteMode::upsert, last);
  finish(written);
  return !written.existed;
}

bool BTree::upsert_large(ByteView key, const LargeValueDescriptor& value) {
  check_key(key);
  const EncodedDescriptor encoded = value.encode();
  const Written written = write_stored({}, key, {.value = encoded.view(), .flags = kLargeValue},
                                       WriteMode::upsert, nullptr);
  finish(written);
  return !written.existed;
}

bool BTree::update(ByteView key, ByteView value, LastLeaf* last) {
  const Written written = write({}, key, value, WriteMode::update, last);
  finish(written);
  return written.existed;
}

bool BTree::remove(ByteView key, LastLeaf* last) {
  return remove_for({}, key, last).existed;
}

Written BTree::remove_for(const WriteContext& by, ByteView key, LastLeaf* last) {
  check_key(key);
  ExclusivePage leaf = leaf_to_write(by, key, last);
  RecordChange change(by, leaf, descent_.pool().space(), key, page_size());
  Written written{.existed = change.exists(), .conflicting_writer = change.conflicting_writer()};
  if (!written.existed || written.conflicting_writer != kNoWriter) {
    change.release_unwritten();
    return written;
  }
  if (by.can_be_undone()) {
    make_ghost(by, leaf, change, key, last);
    return written;
  }
  take_out(leaf, change, key, last);
  written.freed = change.freed();
  finish(written);
  return written;
}

// Now and then purges ghosts of ended transactions, so that leaves do not fill up with them.
void BTree::make_ghost(const WriteContext& by, ExclusivePage& leaf, RecordChange& change,
                       ByteView key, LastLeaf* last) {
  change.make_ghost();
  const LeafView view(leaf.page(), page_size());
  const std::uint32_t ghosts = view.ghost_count();
  const bool is_large = (view.flags(change.slot()) & kLargeValue) != 0;
  const std::uint32_t every = purge_every(leaf, page_size());
  const std::uint64_t ghost_bytes =
      is_large ? std::uint64_t{page_size()} *
                     large_values_->decode(view.value(change.slot())).block_count()
               : std::uint64_t{page_size()} * every / std::max<SlotIndex>(view.count(), 1);
  let_go(by, std::move(leaf), key, change.slot(), last);
  if (is_large || ghosts % every == 0) {  // a large value occupies many pages
    dead_->add(ghost_bytes);
    try {
      try_purge_ghosts(by, key);
    } catch (const std::exception&) {
      return;  // the removal is done; the ghosts can wait
    }
  }
}

void BTree::take_out(ExclusivePage& leaf, RecordChange& change, ByteView key, LastLeaf* last) {
  const auto is_thin = [&] {
    return Structure::thinly_filled(unreserved_bytes(leaf, page_size()), page_size());
  };
  const bool was_thin = is_thin();
  change.take_out();
  const SlotIndex count = LeafView(leaf.page(), page_size()).count();
  const bool merge = is_thin() && (!was_thin || count % kMergeEvery == 0);
  let_go({}, std::move(leaf), key, change.slot(), last);
  if (merge) {
    structure_.merge_leaf({}, key);
  }
}

WriteOutcome BTree::outcome_of(const Written& written, ByteView key) {
  finish(written);
  if (written.conflicting_writer != kNoWriter) {
    return {.existed = false,
            .conflict = Conflict{.key = std::string(key), .with = written.conflicting_writer}};
  }
  return {.existed = written.existed, .conflict = std::nullopt};
}

WriteOutcome BTree::insert(const WriteContext& by, ByteView key, ByteView value, LastLeaf* last) {
  return outcome_of(write(by, key, value, WriteMode::insert, last), key);
}

WriteOutcome BTree::upsert(const WriteContext& by, ByteView key, ByteView value, LastLeaf* last) {
  return outcome_of(write(by, key, value, WriteMode::upsert, last), key);
}

WriteOutcome BTree::update(const WriteContext& by, ByteView key, ByteView value, LastLeaf* last) {
  return outcome_of(write(by, key, value, WriteMode::update, last), key);
}

WriteOutcome BTree::remove(const WriteContext& by, ByteView key, LastLeaf* last) {
  return outcome_of(remove_for(by, key, last), key);
}

WriteOutcome BTree::claim(const WriteContext& by, ByteView key, LastLeaf* last) {
  check_key(key);
  ExclusivePage leaf = leaf_to_write(by, key, last);
  RecordChange change(by, leaf, descent_.pool().space(), key, page_size());
  const Written written{
      .existed = change.exists(), .freed = {}, .conflicting_writer = change.conflicting_writer()};
  if (!written.existed || written.conflicting_writer != kNoWriter) {
    change.release_unwritten();
  } else {
    change.claim();
    let_go(by, std::move(leaf), key, change.slot(), last);
  }
  return outcome_of(written, key);
}

void BTree::undo(const TreeRecord& record, FunctionRef<Gsn(Gsn, ConstBytes)> append) {
  if (record.kind == TreeRecordKind::format_root) {
    undo_creation(record, append);
    return;
  }
  const WriteContext unlogged;  // `append` logs
  ExclusivePage leaf = exclusive_leaf(record.key, nullptr);
  RecordChange change(unlogged, leaf, descent_.pool().space(), record.key, page_size());
  if (!change.has_slot()) {
    change.release_unwritten();
    throw Error(ErrorCode::corruption,
                fmt::format("a change of the key \"{}\" cannot be undone: the record is gone",
                            printable(record.key)));
  }
  const RecordChange::Freed freed = change.undo(record, append);
  change.finish();
  leaf.release();
  if (freed.value) {
    for (const buffer::PageRun& run : freed.value->runs()) {
      descent_.pool().space().free_when_durable(run, freed.gsn);
    }
  }
}

// The tree must not be used any more; its only page is freed.
void BTree::undo_creation(const TreeRecord& record, FunctionRef<Gsn(Gsn, ConstBytes)> append) {
  const PageId page = root_page();
  std::vector<std::byte> body(inverse_bytes(record, page, 0));
  write_inverse(record, page, 0, body);
  if (record.page != page) {
    refuse_undo_creation(id_);
  }
  buffer::TreeRoot::Latched root = descent_.root().latch();
  const LeafView leaf(root.page.page(), page_size());
  if (!leaf.is_leaf() || leaf.count() != 0 || !drop_idle_table(root.page, page_size())) {
    root.release_unchanged();
    refuse_undo_creation(id_);
  }
  {
    auto space = descent_.pool().space().change();
    const Gsn gsn = append(gsn_of(root.page.page()), body);
    space.give({page, 1}, gsn);
    set_gsn_of_freed(root.page, gsn);
  }
  descent_.root().free(std::move(root));
}

}  // namespace palimpsest::btree
