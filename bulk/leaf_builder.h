// Builds leaves of ascending records that no tree refers to yet, in private memory, and writes each
// once.
//
//   LeafBuilder run(pool, {tree, lower, epoch}, bytes, writer);
//   run.add(key, value);  // ascending
//   run.finish();         // from here on the owner only waits for it
//   run.await_durable();
//   run.keep(hung);       // a tree refers to these from now on (btree/structure.h, graft())
//
// Why not insert(): a page is filled once, as full as it can be, and written once, in long
// transfers, without a frame of the buffer pool and without the double-write ring, because nothing
// refers to it before it is durable. The leaves lie in the writer's transfers (leaf_writer.h), some
// of which are filled while others are written; the builder retains where each leaf ends. Between
// finish() and await_durable() the owner may do anything else, except another run of the same
// writer.
//
// Latching: none held, none taken; all functions but keep() may wait for I/O.
// Failure: add(), finish() and await_durable() throw Error no_space, io_error, failed, also for
// what earlier calls of the run began to write; the run is unusable then. Pages that are not
// retained by keep() become free when the run ends and no write of them is under way. Whatever of
// them has reached the disk is in free pages, and no record names them after a crash either.
// Durability: what a tree refers to has been awaited before.
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "btree/node/fresh_leaf.h"
#include "btree/node/key_bytes.h"
#include "btree/node/leaf_node.h"
#include "buffer/buffer_pool.h"
#include "bulk/leaf_writer.h"
#include "bulk/page_allocator.h"

namespace palimpsest::bulk {

class LeafBuilder {
 public:
  /// The properties that all leaves share.
  struct Of {
    TreeId tree = kNoTree;
    ByteView lower;              ///< lower fence of the first leaf
    BulkEpoch epoch = kNoEpoch;  ///< if not kNoEpoch: this bulk creates all records
  };

  /// `bytes`: the approximate size of the records, from which the number of pages to reserve is
  /// computed. Pool and writer outlive this.
  LeafBuilder(buffer::BufferPool& pool, const Of& of, std::uint64_t bytes, LeafWriter& writer);
  LeafBuilder(const LeafBuilder&) = delete;
  LeafBuilder& operator=(const LeafBuilder&) = delete;
  ~LeafBuilder() { writer_.drop(); }

  /// Whether a run may end with this key: there is a key above it to be its leaf's upper fence.
  [[nodiscard]] static bool can_end_with(ByteView key, std::uint32_t page_size) noexcept {
    return key.size() < btree::key_bytes_max(page_size);
  }

  /// Adds a record: the key is not below `lower` and above all before, key and value are within the
  /// limits of a record in a leaf.
  void add(ByteView key, ByteView value);
  /// Ends the run behind the last key, if there is one: can_end_with(). Begins to write the rest
  /// and to make all of it durable.
  void finish();
  /// Waits until finish() is done. Called once.
  void await_durable() { writer_.await(); }

  /// The leaves of a finished run; valid as long as the run.
  [[nodiscard]] std::span<const btree::FreshLeaf> leaves() const noexcept { return fresh_; }
  /// Records of the first `leaves` leaves.
  [[nodiscard]] std::size_t records_of(std::size_t leaves) const noexcept {
    return leaves == 0 ? 0 : built_[leaves - 1].records_end;
  }
  /// A tree owns the first `leaves` leaves from now on; the rest are free. The run is over.
  void keep(std::size_t leaves) noexcept;

 private:
  struct Built {
    PageId page;
    std::size_t records_end;  ///< number of records up to the leaf's end
    std::size_t upper_end;    ///< end of its upper fence in uppers_
  };

  [[nodiscard]] btree::LeafNode leaf() const noexcept {
    return {writer_.filling().images.back().bytes.data(), page_size_};
  }
  [[nodiscard]] ByteView lower_of(std::size_t leaf) const noexcept;
  void begin_leaf();
  void end_leaf(ByteView next);

  const TreeId tree_;
  const BulkEpoch epoch_;
  const std::uint32_t page_size_;
  const btree::KeyBuffer lower_;
  PageAllocator pages_;
  LeafWriter& writer_;
  bool is_open_ = false;  ///< the last leaf of the transfer being filled
  std::vector<Built> built_;
  std::string uppers_;  ///< upper fences, concatenated
  std::vector<btree::FreshLeaf> fresh_;
  std::size_t records_ = 0;
};

}  // namespace palimpsest::bulk
