// Leaves of ascending records that no tree names yet: built in private memory, written once.
//
//   LeafBuilder run(pool, {tree, lower, epoch}, bytes, writer);
//   run.add(key, value);  // ascending
//   run.finish();         // from here on it is only waited for
//   run.await_durable();
//   run.keep(hung);       // those that a tree names from then on (structure.h, graft())
//
// Why not insert(): a page is filled once, as full as it can be, and written once, in long
// transfers, without a place in the buffer pool and without the double-write ring: nothing refers
// to it before it is durable. Leaves lie in the writer's transfers (leaf_writer.h), of which
// some are filled while others are written; where each leaf ends is kept here. Between finish() and
// await_durable() the owner may do anything else, but for another run of the same writer.
//
// Latching: none held, none taken; all functions but keep() may wait for I/O.
// Failure: add(), finish() and await_durable() throw Error no_space, io_error, failed, also of what
//          was written for earlier calls of the run; it is good for nothing then. Pages that are
//          not kept are free again at the end, when nothing writes them any more: whatever of them
//          has reached the disk is in free pages, and no record names them after a crash either.
// Durability: what a tree names has been awaited before.
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

namespace palimpsest::btree {

class LeafBuilder {
 public:
  /// What all leaves have in common.
  struct Of {
    TreeId tree = kNoTree;
    ByteView lower;              ///< where the first one begins
    BulkEpoch epoch = kNoEpoch;  ///< not none: all records are created by this bulk
  };

  /// `bytes`: about what the records will take; pages are asked for by that. Pool and writer
  /// outlive it.
  LeafBuilder(buffer::BufferPool& pool, const Of& of, std::uint64_t bytes, LeafWriter& writer);
  LeafBuilder(const LeafBuilder&) = delete;
  LeafBuilder& operator=(const LeafBuilder&) = delete;
  ~LeafBuilder() { writer_.drop(); }

  /// Whether a key can be the last one: there is a place above it where its leaf ends.
  [[nodiscard]] static bool can_end_with(ByteView key, std::uint32_t page_size) noexcept {
    return key.size() < key_bytes_max(page_size);
  }

  /// Adds a record whose key is not below `lower` and above all before, within the limits of a
  /// record in a leaf.
  void add(ByteView key, ByteView value);
  /// Ends it behind the last key, if there is one: can_end_with(). The rest is being written, and
  /// all of it made durable.
  void finish();
  /// Waits for that. Once.
  void await_durable() { writer_.await(); }

  /// Of a run that has been finished; they live as long as the run.
  [[nodiscard]] std::span<const FreshLeaf> leaves() const noexcept { return fresh_; }
  /// Records of the first `leaves` leaves.
  [[nodiscard]] std::size_t records_of(std::size_t leaves) const noexcept {
    return leaves == 0 ? 0 : built_[leaves - 1].records_end;
  }
  /// The first `leaves` leaves are a tree's from now on, the others are free. The run is over.
  void keep(std::size_t leaves) noexcept;

 private:
  struct Built {
    PageId page;
    std::size_t records_end;  ///< number of records up to its end
    std::size_t upper_end;    ///< of its upper fence in uppers_
  };

  [[nodiscard]] LeafNode leaf() const noexcept {
    return {writer_.filling().images.back().bytes.data(), page_size_};
  }
  [[nodiscard]] ByteView lower_of(std::size_t leaf) const noexcept;
  void begin_leaf();
  void end_leaf(ByteView next);

  const TreeId tree_;
  const BulkEpoch epoch_;
  const std::uint32_t page_size_;
  const KeyBuffer lower_;
  PageAllocator pages_;
  LeafWriter& writer_;
  bool is_open_ = false;  ///< the last leaf of the transfer that is filled
  std::vector<Built> built_;
  std::string uppers_;  ///< one behind the other
  std::vector<FreshLeaf> fresh_;
  std::size_t records_ = 0;
};

}  // namespace palimpsest::btree
