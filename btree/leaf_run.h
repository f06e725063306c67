// Leaves of ascending records that no tree names yet: built in private memory, written once.
//
//   LeafRun run(pool, tree, {lower, epoch}, bytes);
//   run.add(key, value);  // ascending
//   run.finish();
//   run.keep(hung);  // those that a tree names from then on (structure.h, graft())
//
// Why not insert(): a page is filled once, as full as it can be, and written once, in long
// transfers, without a place in the buffer pool and without the double-write ring: nothing refers
// to it before it is durable. In memory are two transfers, of which one is filled while the other
// one is written, and where each leaf ends.
//
// Latching: none held, none taken; add() and finish() do I/O.
// Failure: add() and finish() throw Error no_space, io_error, failed. Pages that are not kept are
//          free again at the end.
// Durability: what finish() has written is durable after the page writer's harden().
// Thread-safety: belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/ids.h"
#include "btree/fresh_leaf.h"
#include "btree/key_bytes.h"
#include "btree/leaf_node.h"
#include "btree/page_supply.h"
#include "buffer/buffer_pool.h"
#include "buffer/fresh_writer.h"
#include "buffer/page_writer.h"

namespace palimpsest::btree {

class LeafRun {
 public:
  /// Leaves are written in transfers of this size.
  static constexpr std::size_t kTransferBytes = std::size_t{1} << 20;

  /// What all leaves have in common.
  struct Of {
    TreeId tree = kNoTree;
    ByteView lower;              ///< where the first one begins
    BulkEpoch epoch = kNoEpoch;  ///< not none: all records are created by this bulk
  };

  /// `bytes`: about what the records will take; pages are asked for by that. The pool outlives it.
  LeafRun(buffer::BufferPool& pool, const Of& of, std::uint64_t bytes);
  LeafRun(const LeafRun&) = delete;
  LeafRun& operator=(const LeafRun&) = delete;
  ~LeafRun() = default;

  /// Whether a key can be the last one: there is a place above it where its leaf ends.
  [[nodiscard]] static bool can_end_with(ByteView key, std::uint32_t page_size) noexcept {
    return key.size() < key_bytes_max(page_size);
  }

  /// Adds a record whose key is not below `lower` and above all before, within the limits of a
  /// record in a leaf.
  void add(ByteView key, ByteView value);
  /// Ends it behind the last key, if there is one: can_end_with().
  void finish();

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

  /// Pages that are written together.
  struct Transfer {
    AlignedMemory memory;
    std::vector<buffer::PageImage> images{};  ///< in memory, so far
  };

  [[nodiscard]] LeafNode leaf() const noexcept {
    return {filling().images.back().bytes.data(), page_size_};
  }
  [[nodiscard]] Transfer& filling() noexcept { return transfers_[filling_]; }
  [[nodiscard]] const Transfer& filling() const noexcept { return transfers_[filling_]; }
  [[nodiscard]] ByteView lower_of(std::size_t leaf) const noexcept;
  void begin_leaf();
  void end_leaf(ByteView next);
  void begin_write();
  void write_rest();

  buffer::BufferPool& pool_;
  const TreeId tree_;
  const BulkEpoch epoch_;
  const std::uint32_t page_size_;
  const KeyBuffer lower_;
  PageSupply pages_;
  std::array<Transfer, 2> transfers_;
  std::size_t filling_ = 0;  ///< the one that is filled: its last leaf, if is_open_
  bool is_open_ = false;
  std::vector<Built> built_;
  std::string uppers_;  ///< one behind the other
  std::vector<FreshLeaf> fresh_;
  std::size_t records_ = 0;
  std::optional<buffer::FreshWriter>
      writer_;  ///< if there is more than one; last: it uses the rest
};

}  // namespace palimpsest::btree
