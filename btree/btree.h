// The B+-tree: an ordered map from key bytes to value bytes, larger than memory.
//
// Keys are 1 byte to an eighth of the page long and compared by memcmp. A record (key plus value)
// of up to a quarter of the page lies in a leaf. A larger value, up to 1 GiB, lies in extents of
// its own, and the leaf holds its descriptor (large_value_store.h). Leaves have fences and no
// sibling pointers.
// Parts: node/ (one page), descent.h, structure.h (splits, merges), leaf_walk.h, cursor.h and
// visible_record.h (scans), audit.h (checking). Sorted loads: bulk/leaf_builder.h.
//
// Writers: a change with a writer (write_context.h) claims its record until that writer ends; a
//          change by another writer returns a conflict. It is logged under the leaf's latch, and
//          can be undone: a removal makes a ghost, which is purged when no reader needs it and its
//          leaf is written to again. Changes without a writer (loads, tests) log nothing, and
//          remove records at once.
//
// Latching: reads are optimistic and write nothing shared. A write latches its leaf exclusively,
//           and more only when the structure must change. No latch is held during I/O or while the
//           caller's code runs, except for may_purge and change, which neither block nor call it.
// Failure: Error invalid_argument for a key or value beyond a limit (the message names it),
//          no_space, io_error, corruption. The tree stays valid and nothing was done. One
//          exception: if pages of a large value just replaced or removed turn out to be free
//          already, the change is done, corruption is thrown, and the file fails.
// Thread-safety: all functions, from any thread. Each call is atomic by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "btree/descent.h"
#include "btree/ghost_bytes.h"
#include "btree/ghost_leaf_notes.h"
#include "btree/key_places.h"
#include "btree/large/large_value_store.h"
#include "btree/last_leaf.h"
#include "btree/node/leaf_node.h"
#include "btree/node/value_buffer.h"
#include "btree/record_change.h"
#include "btree/structure.h"
#include "btree/tree_results.h"
#include "btree/value_copy.h"
#include "btree/value_edit.h"
#include "btree/virtual_version_resolver.h"
#include "btree/write_outcome.h"
#include "buffer/buffer_pool.h"

namespace palimpsest::btree {

class BTree {
 public:
  /// Makes an empty tree with a new root page. Throws no_space, io_error, and what prepare()
  /// throws. `epochs`: of the bulks that change it; null: no bulk does.
  [[nodiscard]] static BTree create(buffer::BufferPool& pool, LargeValueStore& large_values,
                                    TreeId id, const WriteContext& by = {},
                                    versioning::BulkEpochs* epochs = nullptr);
  /// Opens a tree by its root page, once per pool, read on first use. Throws out_of_memory.
  [[nodiscard]] static BTree open(buffer::BufferPool& pool, LargeValueStore& large_values,
                                  TreeId id, PageId root, versioning::BulkEpochs* epochs = nullptr);

  [[nodiscard]] PageId root_page() const noexcept { return descent_.root().page(); }
  [[nodiscard]] TreeId id() const noexcept { return id_; }
  [[nodiscard]] const Descent& descent() const noexcept { return descent_; }
  [[nodiscard]] LargeValueStore& large_values() const noexcept { return *large_values_; }
  [[nodiscard]] GhostLeafNotes& ghost_leaf_notes() const noexcept { return *ghost_leaf_notes_; }

  // `last`: the caller's memory of the leaf it used last, or null. `read_view`: the reader's read
  // view; null: the newest state, committed or not.
  /// Copies the value. False if the key is absent; `value` is then void.
  [[nodiscard]] bool lookup(ByteView key, ValueCopy& value, LastLeaf* last = nullptr,
                            const versioning::ReadView* read_view = nullptr) const {
    const Found found = find(key, value.small_, last, read_view);
    value.is_large_ = found.exists && (found.flags & kLargeValue) != 0;
    return value.is_large_ ? read_large(key, value.small_.view(), value.large_, read_view)
                           : found.exists;
  }
  /// Copies the value. False if the key is absent; `value` is then unchanged.
  [[nodiscard]] bool lookup(ByteView key, std::string& value, LastLeaf* last = nullptr,
                            const versioning::ReadView* read_view = nullptr) const;
  /// Calls sink(ByteView) with the value, valid during the call; no latch is held.
  template <class Sink>
  [[nodiscard]] bool lookup_with(ByteView key, Sink&& sink, LastLeaf* last = nullptr,
                                 const versioning::ReadView* read_view = nullptr) const {
    ValueCopy value(page_size());
    const bool is_there = lookup(key, value, last, read_view);
    is_there ? sink(value.view()) : void();
    return is_there;
  }

  /// lookup_with() for several keys, with overlapping searches (key_places.h): calls sink(number,
  /// value) for each key that exists, in their order.
  void lookup_many(std::span<const ByteView> keys, FunctionRef<void(std::size_t, ByteView)> sink,
                   const versioning::ReadView* read_view = nullptr) const;
  /// lookup_many() without copying: if the read view sees a value as it lies in its leaf, `show`
  /// gets it in place, under the leaf's latch; `show` must neither block nor use the engine.
  void visit_many(std::span<const ByteView> keys, FunctionRef<void(std::size_t, ByteView)> show,
                  const versioning::ReadView* read_view = nullptr) const;

  /// lookup() of the newest state, if that is known to be committed: the record has no recent
  /// change, and its value is not large. Otherwise returns nothing; `value` is then void.
  [[nodiscard]] std::optional<bool> lookup_stable(ByteView key, ValueCopy& value) const {
    const Found found = find(key, value.small_, nullptr, Look::at_stable());
    if (found.has_versions || (found.flags & kLargeValue) != 0) {
      return std::nullopt;
    }
    value.is_large_ = false;
    return found.exists;
  }

  /// Brings the leaves of these keys into memory with overlapping reads.
  void prefetch(std::span<const ByteView> keys) const;

  /// False, and nothing changed, if the key exists.
  [[nodiscard]] bool insert(ByteView key, ByteView value, LastLeaf* last = nullptr);
  /// Inserts or replaces; true if new. Write a large value first (large_values().begin()).
  bool upsert(ByteView key, ByteView value, LastLeaf* last = nullptr);
  bool upsert_large(ByteView key, const LargeValueDescriptor& value);
  /// False, and nothing changed, if the key is absent.
  [[nodiscard]] bool update(ByteView key, ByteView value, LastLeaf* last = nullptr);
  /// False if the key is absent.
  [[nodiscard]] bool remove(ByteView key, LastLeaf* last = nullptr);

  // Ghosts (node_layout.h) are absent to all reads; insert and upsert give them a new value.
  /// Makes the record a ghost; its body stays until the purge. False if the key is absent.
  [[nodiscard]] bool mark_deleted(ByteView key, LastLeaf* last = nullptr);
  /// Makes the ghost a record again. False if there is no ghost of that key.
  [[nodiscard]] bool unmark_deleted(ByteView key, LastLeaf* last = nullptr);
  /// Removes the ghosts of the leaf that covers `key` for which may_purge(leaf, slot), called under
  /// its exclusive latch, is true; frees their large values; merges a thin or empty leaf. How many.
  std::size_t purge_ghosts(const WriteContext& by, ByteView key,
                           FunctionRef<bool(const LeafView& leaf, SlotIndex slot)> may_purge);
  /// purge_ghosts() for frequent callers: first tries a few ghosts, ever further from the key.
  std::size_t try_purge_ghosts(const WriteContext& by, ByteView key);
  /// purge_ghosts() for all leaves from `walk.next` on, virtual versions resolved first, until
  /// `walk` has the pages it wants. False: the tree ended before. Progress in `walk` counts even if
  /// this throws; that includes transaction_too_old.
  bool purge_ghosts(const WriteContext& by, GhostWalk& walk);
  /// Resolves the virtual versions of the key's leaf, if all can be. False: no log space for it.
  bool resolve(const WriteContext& by, ByteView key) { return resolver_.resolve_all(by, key); }
  /// How many bytes ghosts still occupy.
  [[nodiscard]] GhostBytes& dead() const noexcept { return *dead_; }
  /// For merges and moves.
  [[nodiscard]] const Structure& structure() const noexcept { return structure_; }

  /// Calls change(MutableBytes) on the value in place, under the leaf's exclusive latch. False if
  /// the key is absent; Error invalid_argument for a large value.
  template <class Change>
  [[nodiscard]] bool modify(ByteView key, Change&& change, LastLeaf* last = nullptr) {
    return edit_for({}, key, of_all_bytes(change), last).existed;
  }

  // The same with a write context. They also throw what WriteContext::prepare() throws.
  [[nodiscard]] WriteOutcome insert(const WriteContext& by, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  /// Inserts records in this order, up to the first that cannot be inserted; neighbours that belong
  /// in one leaf share one visit.
  [[nodiscard]] ManyWritten insert_many(const WriteContext& by, std::span<const NewRecord> records,
                                        LastLeaf* last = nullptr);
  /// Throws invalid_argument if this is not a valid key.
  void check_key(ByteView key) const {
    if (key.empty() || key.size() > key_bytes_max(page_size())) [[unlikely]] {
      refuse_key(key);
    }
  }
  /// Whether all fit as records of leaves (bulk/append.h).
  [[nodiscard]] bool lie_in_leaves(std::span<const NewRecord> records) const noexcept;
  /// Whether all keys, ghosts' included, are below this one.
  [[nodiscard]] bool is_beyond_end(ByteView key) const;
  [[nodiscard]] WriteOutcome upsert(const WriteContext& by, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  [[nodiscard]] WriteOutcome update(const WriteContext& by, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  [[nodiscard]] WriteOutcome remove(const WriteContext& by, ByteView key, LastLeaf* last = nullptr);
  /// Claims the record without changing it: no other writer can change it before `by` has ended.
  [[nodiscard]] WriteOutcome claim(const WriteContext& by, ByteView key, LastLeaf* last = nullptr);
  /// As modify(), but `change` says which bytes it changes.
  [[nodiscard]] WriteOutcome edit(const WriteContext& by, ByteView key, Edit change,
                                  LastLeaf* last = nullptr) {
    return outcome_of(edit_for(by, key, change, last), key);
  }

  /// edit() for several keys, with overlapping searches (key_places.h), up to the first that cannot
  /// be edited: calls change(number, editor) in their order. Neighbours in a leaf share one visit.
  [[nodiscard]] ManyWritten edit_many(const WriteContext& by, std::span<const ByteView> keys,
                                      EditMany change);

  /// Undoes a change of a transaction: append(at_least, body) logs the compensation, under the
  /// leaf's latch, and returns its GSN. Needs no space. Throws io_error, out_of_memory, corruption;
  /// nothing has changed then. A tree must not be used once its creation was undone.
  void undo(const TreeRecord& record, FunctionRef<Gsn(Gsn at_least, ConstBytes body)> append);

 private:
  BTree(const Descent& descent, std::unique_ptr<Shortcuts> shortcuts, LargeValueStore& large_values,
        TreeId id);

  [[nodiscard]] std::uint32_t page_size() const noexcept { return descent_.page_size(); }
  [[noreturn]] void refuse_key(ByteView key) const;
  [[nodiscard]] Found find(ByteView key, ValueBuffer& value, LastLeaf* last,
                           const Look& look) const;
  [[nodiscard]] Found find_at(const KeyPlace& place, ByteView key, ValueBuffer& value,
                              const Look& look) const;
  void lookup_first(const KeysFound& keys, bool& has_looked_ahead, FunctionRef<void(ByteView)> sink,
                    const versioning::ReadView* read_view) const;
  void prefetch_large(const KeysFound& keys, const versioning::ReadView* read_view) const;
  /// Shows the record at `place`, if the read view sees it as it lies there. False: not known yet.
  [[nodiscard]] bool visit_at(const KeyPlace& place, ByteView key, FunctionRef<void(ByteView)> show,
                              const Look& look) const;
  template <class Search>
  [[nodiscard]] Attempt<Found> find_in(buffer::OptimisticPage leaf, ByteView key,
                                       const Search& search, ValueBuffer& value,
                                       const Look& look) const;
  [[nodiscard]] bool remember(const buffer::OptimisticPage& leaf, LastLeaf& last) const;
  [[nodiscard]] bool read_large(ByteView key, ByteView descriptor, std::string& value,
                                const versioning::ReadView* read_view) const;
  void read_extents(FunctionRef<void()> read) const;
  [[nodiscard]] Attempt<buffer::OptimisticPage> remembered(const LastLeaf& last) const;
  [[nodiscard]] buffer::ExclusivePage exclusive_leaf(ByteView key, LastLeaf* last) const;
  /// Prepared, and without virtual versions that must be resolved first.
  [[nodiscard]] buffer::ExclusivePage leaf_to_write(const WriteContext& by, ByteView key,
                                                    LastLeaf* last);
  [[nodiscard]] Written edit_in_bulk(const WriteContext& by, ByteView key, Edit change,
                                     LastLeaf* last);
  using FindGhosts = FunctionRef<void(LeafEntries& entries, std::vector<SlotIndex>& slots)>;
  Purged purge(const WriteContext& by, ByteView key, FindGhosts find);
  void let_go(const WriteContext& by, buffer::ExclusivePage leaf, ByteView key, SlotIndex slot,
              LastLeaf* last) noexcept;
  [[nodiscard]] Written write(const WriteContext& by, ByteView key, ByteView value, WriteMode mode,
                              LastLeaf* last);
  [[nodiscard]] Written write_stored(const WriteContext& by, ByteView key,
                                     const RecordState& stored, WriteMode mode, LastLeaf* last);
  void make_room(const WriteContext& by, ByteView key, const RecordState& stored, bool has_slot);
  [[nodiscard]] std::size_t insert_in_one_leaf(const WriteContext& by,
                                               std::span<const NewRecord> records, LastLeaf* last);
  [[nodiscard]] Written remove_for(const WriteContext& by, ByteView key, LastLeaf* last);
  void make_ghost(const WriteContext& by, buffer::ExclusivePage& leaf, RecordChange& change,
                  ByteView key, LastLeaf* last);
  void take_out(buffer::ExclusivePage& leaf, RecordChange& change, ByteView key, LastLeaf* last);
  [[nodiscard]] Written edit_for(const WriteContext& by, ByteView key, Edit change, LastLeaf* last);
  [[nodiscard]] std::size_t edit_in_one_leaf(const WriteContext& by, std::span<const ByteView> keys,
                                             std::span<const KeyPlace> places, EditMany change,
                                             Written& refused);
  [[nodiscard]] ManyWritten edit_many_in_bulk(const WriteContext& by,
                                              std::span<const ByteView> keys, EditMany change);
  [[nodiscard]] buffer::ExclusivePage leaf_at(const WriteContext& by, const KeyPlace& place,
                                              ByteView key, bool& is_as_found);
  static void edit_in(const WriteContext& by, RecordChange& record, Edit change);
  [[nodiscard]] WriteOutcome outcome_of(const Written& written, ByteView key);
  [[nodiscard]] bool set_ghost(ByteView key, bool ghost, LastLeaf* last);
  void finish(const Written& written);
  void undo_creation(const TreeRecord& record,
                     FunctionRef<Gsn(Gsn at_least, ConstBytes body)> append);

  std::unique_ptr<Shortcuts> shortcuts_;  ///< used by all descents
  std::unique_ptr<GhostBytes> dead_ = std::make_unique<GhostBytes>();
  std::unique_ptr<GhostLeafNotes> ghost_leaf_notes_;
  Descent descent_;
  Structure structure_;
  VirtualVersionResolver resolver_;
  LargeValueStore* large_values_;
  TreeId id_;
};

}  // namespace palimpsest::btree
