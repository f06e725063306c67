// The B+-tree: an ordered map from key bytes to value bytes, larger than memory.
//
// Keys are compared by memcmp; 1 byte to an eighth of the page. A record (key plus value) of up to
// a quarter of the page lies in a leaf; larger values, up to 1 GiB, lie in extents of their own and
// the leaf holds their descriptor (large_value_store.h). Leaves have fences and no sibling
// pointers, so each page is named by exactly one swip.
//
// Parts: node_*.h, leaf_node.h, inner_node.h (one page), descent.h (finding a node), structure.h
// (splits, merges), leaf_walk.h and cursor.h (scans), builder.h (sorted loads), audit.h (checking).
//
// Writers: a change on behalf of a Writer (versioning/writer.h) claims its record, and until that
//          writer has ended no other writer changes it: that is a conflict, a value. Changes
//          without a writer (loads, tests) ask nobody; only space is kept for those who may undo.
//          A removal by a writer is physical: the entry stays behind, so that inserting the key
//          again conflicts, but the record's place is not kept, nor are the pages of a large value
//          that is replaced or removed.
//
// Latching: reads are optimistic and write nothing shared; a write latches its leaf exclusively,
//           and more only when the structure must change. No latch is held during I/O or while the
//           caller's code runs, except where a function says so.
// Failure: Error invalid_argument for a key or value beyond a limit (names it), no_space, io_error,
//          corruption; the tree stays valid, and the operation has had no effect. One exception:
//          when pages of a large value just replaced or removed turn out to be free already, the
//          change is done, corruption is thrown, and the file fails.
// Thread-safety: all functions, from any thread. Each call is atomic by itself.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "btree/descent.h"
#include "btree/large_value_store.h"
#include "btree/last_leaf.h"
#include "btree/leaf_node.h"
#include "btree/structure.h"
#include "btree/write_outcome.h"
#include "buffer/buffer_pool.h"
#include "versioning/writer.h"

namespace palimpsest::btree {

/// Memory for one in-page value of any page size, for use on the stack.
class ValueBuffer {
 public:
  ValueBuffer() noexcept {}  // NOLINT(modernize-use-equals-default): leaves bytes_ uninitialised

  /// Cut off at the capacity: for bytes read optimistically.
  void assign_clamped(ByteView value) noexcept {
    size_ = std::min(value.size(), bytes_.size());
    std::memcpy(bytes_.data(), value.data(), size_);
  }
  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::size_t size_ = 0;
  std::array<char, record_bytes_max(buffer::kPageSizeMax)> bytes_;
};

class BTree {
 public:
  /// Makes an empty tree with a new root page. Throws no_space, io_error.
  [[nodiscard]] static BTree create(buffer::BufferPool& pool, LargeValueStore& large_values,
                                    TreeId id);
  /// Opens a tree by its root page, once per pool. Throws io_error, corruption.
  [[nodiscard]] static BTree open(buffer::BufferPool& pool, LargeValueStore& large_values,
                                  TreeId id, PageId root);

  [[nodiscard]] PageId root_page() const noexcept { return root_page_; }
  [[nodiscard]] TreeId id() const noexcept { return id_; }
  [[nodiscard]] const Descent& descent() const noexcept { return descent_; }
  [[nodiscard]] LargeValueStore& large_values() const noexcept { return *large_values_; }

  // In all calls, `last` is the caller's memory of the leaf it used last, or null.

  /// Copies the value; false if the key is absent (`value` is then as it was).
  [[nodiscard]] bool lookup(ByteView key, std::string& value, LastLeaf* last = nullptr) const;

  /// Calls sink(ByteView) with the value, valid during the call; no latch is held. Spares the copy
  /// into a string. False if the key is absent.
  template <class Sink>
  [[nodiscard]] bool lookup_with(ByteView key, Sink&& sink, LastLeaf* last = nullptr) const {
    ValueBuffer value;
    const Found found = find(key, value, last);
    if (!found.exists) {
      return false;
    }
    if ((found.flags & kLargeValue) == 0) [[likely]] {
      sink(value.view());
      return true;
    }
    std::string large;
    if (!read_large(key, value.view(), large)) {
      return false;
    }
    sink(ByteView(large));
    return true;
  }

  /// The value's length in bytes, large or not.
  [[nodiscard]] std::optional<std::uint64_t> value_bytes(ByteView key) const;

  /// Copies out.size() bytes of the value from an offset; nothing if the key is absent. Throws
  /// invalid_argument if the value ends before that.
  [[nodiscard]] bool read_piece(ByteView key, std::uint64_t offset_bytes, MutableBytes out) const;

  /// Brings the leaves of these keys into memory, their reads overlapping.
  void prefetch(std::span<const ByteView> keys) const;

  /// False, and nothing changed, if the key exists.
  [[nodiscard]] bool insert(ByteView key, ByteView value, LastLeaf* last = nullptr);
  /// Inserts or replaces; true if the key is new.
  bool upsert(ByteView key, ByteView value, LastLeaf* last = nullptr);
  /// Inserts or replaces by a large value written before (large_values().begin()); true if new.
  bool upsert_large(ByteView key, const LargeValueDescriptor& value);
  /// Replaces; false, and nothing changed, if the key is absent.
  [[nodiscard]] bool update(ByteView key, ByteView value, LastLeaf* last = nullptr);
  /// False if the key is absent.
  [[nodiscard]] bool remove(ByteView key, LastLeaf* last = nullptr);

  // Ghosts (node_layout.h): absent to everything above; insert and upsert over one revive it with
  // the new value.

  /// Makes the record a ghost: its body, and its large value, stay until it is purged. False if the
  /// key is absent.
  [[nodiscard]] bool mark_deleted(ByteView key, LastLeaf* last = nullptr);
  /// Makes the ghost the record that it was. False if there is no ghost of that key.
  [[nodiscard]] bool unmark_deleted(ByteView key, LastLeaf* last = nullptr);
  /// Removes the ghosts of the leaf that covers `key` for which may_purge(leaf, slot) is true, and
  /// frees their large values; merges the leaf if that leaves it thin. `may_purge` is called under
  /// the leaf's exclusive latch and must neither block nor call the engine. How many there were.
  std::size_t purge_ghosts(ByteView key,
                           FunctionRef<bool(const LeafView& leaf, SlotIndex slot)> may_purge);

  /// Calls change(MutableBytes) on the value in place, under the leaf's exclusive latch: it must
  /// neither block nor call the engine. False if the key is absent; Error invalid_argument for a
  /// large value.
  template <class Change>
  [[nodiscard]] bool modify(ByteView key, Change&& change, LastLeaf* last = nullptr) {
    return modify_for(nullptr, key, change, last).existed;
  }

  // The same on behalf of a writer. Throw std::bad_alloc, too, and nothing has changed then.

  [[nodiscard]] WriteOutcome insert(versioning::Writer& writer, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  [[nodiscard]] WriteOutcome upsert(versioning::Writer& writer, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  [[nodiscard]] WriteOutcome update(versioning::Writer& writer, ByteView key, ByteView value,
                                    LastLeaf* last = nullptr);
  [[nodiscard]] WriteOutcome remove(versioning::Writer& writer, ByteView key,
                                    LastLeaf* last = nullptr);
  template <class Change>
  [[nodiscard]] WriteOutcome modify(versioning::Writer& writer, ByteView key, Change&& change,
                                    LastLeaf* last = nullptr) {
    return outcome_of(modify_for(&writer, key, change, last), key);
  }

 private:
  struct Found {
    bool exists = false;
    std::uint16_t flags = kPlainRecord;
  };
  /// A record's value as it goes into the leaf.
  struct Stored {
    ByteView bytes;
    std::uint16_t flags = kPlainRecord;
  };
  enum class WriteMode : std::uint8_t { insert = 1, upsert, update };
  struct Written {
    bool existed = false;
    std::optional<LargeValueDescriptor> replaced;  ///< to be freed
    versioning::WriterId rival = versioning::kNoWriter;
  };
  /// A value to be changed in place; the leaf is not held if it must not be.
  struct LatchedValue {
    buffer::ExclusivePage leaf;
    SlotIndex slot = 0;
    Written written;
  };

  BTree(buffer::BufferPool& pool, LargeValueStore& large_values, TreeId id, PageId root,
        FrameIndex frame) noexcept
      : descent_(pool, frame),
        structure_(descent_, id),
        large_values_(&large_values),
        id_(id),
        root_page_(root) {}

  [[nodiscard]] std::uint32_t page_size() const noexcept { return descent_.page_size(); }
  void check_key(ByteView key) const {
    if (key.empty() || key.size() > key_bytes_max(page_size())) [[unlikely]] {
      refuse_key(key);
    }
  }
  [[noreturn]] void refuse_key(ByteView key) const;
  [[noreturn]] void refuse_in_place(ByteView key) const;

  [[nodiscard]] Found find(ByteView key, ValueBuffer& value, LastLeaf* last) const;
  [[nodiscard]] Attempt<Found> find_in(const buffer::OptimisticPage& leaf, ByteView key,
                                       ValueBuffer& value, LastLeaf* last) const;
  [[nodiscard]] bool read_large(ByteView key, ByteView descriptor, std::string& value) const;
  template <class Read>
  [[nodiscard]] bool with_large(ByteView key, ByteView descriptor, Read&& read) const;

  [[nodiscard]] buffer::ExclusivePage exclusive_leaf(ByteView key, LastLeaf* last) const;
  void let_go(buffer::ExclusivePage leaf, ByteView key, SlotIndex slot, LastLeaf* last) noexcept;
  // Without a writer (null) they ask nobody.
  [[nodiscard]] Written write(ByteView key, ByteView value, WriteMode mode, LastLeaf* last,
                              versioning::Writer* writer);
  [[nodiscard]] Written write_stored(ByteView key, const Stored& stored, WriteMode mode,
                                     LastLeaf* last, versioning::Writer* writer);
  [[nodiscard]] bool try_store(LeafEntries& entries, ByteView key, const Stored& stored,
                               const SearchResult& at, versioning::Writer* writer,
                               Written& written) const;
  [[nodiscard]] bool try_replace(LeafEntries& entries, ByteView key, const Stored& stored,
                                 const SearchResult& at, versioning::Writer* writer,
                                 Written& written) const;
  [[nodiscard]] Written remove_for(versioning::Writer* writer, ByteView key, LastLeaf* last);
  [[nodiscard]] LatchedValue latch_value(versioning::Writer* writer, ByteView key, LastLeaf* last);
  template <class Change>
  [[nodiscard]] Written modify_for(versioning::Writer* writer, ByteView key, Change& change,
                                   LastLeaf* last) {
    LatchedValue value = latch_value(writer, key, last);
    if (value.leaf.holds()) {
      change(LeafNode(value.leaf.modify(), page_size()).value_bytes(value.slot));
      let_go(std::move(value.leaf), key, value.slot, last);
    }
    return value.written;
  }
  [[nodiscard]] static WriteOutcome outcome_of(const Written& written, ByteView key);
  [[nodiscard]] bool set_ghost(ByteView key, bool ghost, LastLeaf* last);
  [[nodiscard]] std::optional<LargeValueDescriptor> large_value_at(const LeafView& leaf,
                                                                   SlotIndex slot) const;
  void free_replaced(const Written& written);

  Descent descent_;
  Structure structure_;
  LargeValueStore* large_values_;
  TreeId id_;
  PageId root_page_;
};

}  // namespace palimpsest::btree
