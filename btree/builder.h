// Builds a tree bottom-up from sorted input: sequential writes past the buffer pool.
//
//   TreeBuilder builder(tree, 0.9);
//   builder.add(key, value);  // ascending
//   builder.finish();
//
// Why not insert(): each page is built once in private memory, as full as wanted, and written once,
// in runs of about a megabyte, without evicting anything or going through the double-write ring:
// nothing refers to the pages before the end. In memory are one such run of leaves and one node for
// each inner level. The root keeps its page id: at the end the content of the topmost node goes
// into the root's frame in one step, and with it the whole tree becomes visible.
//
// The last leaf may be empty and the last node of an inner level may have a single child: neither
// is known before the input ends.
//
// Latching: the root's latch for an instant at either end; no latch is held while the caller's code
//           runs or during I/O. Do not call with a latch or a page writer's batch held.
// Failure: add() and finish() throw Error invalid_argument (a key that is not above the one before,
//          a key or value beyond a limit: the message names the record's position, counted from 1;
//          a tree that is not empty, at either end), no_space, io_error, failed. Afterwards, and
//          when destroyed unfinished, everything allocated is free again and the tree is as it was;
//          every further call throws failed.
// Durability: what finish() leaves is durable as any change is: with the next flush and harden.
// Thread-safety: a builder belongs to one thread. The tree may be used meanwhile; a record inserted
//          into it makes finish() fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/aligned_memory.h"
#include "btree/btree.h"
#include "btree/page_supply.h"
#include "buffer/page_writer.h"

namespace palimpsest::btree {

class TreeBuilder {
 public:
  static constexpr double kFillFactorMin = 0.1;
  /// Leaves are buffered and written in runs of this size.
  static constexpr std::size_t kRunBytes = std::size_t{1} << 20;

  /// `tree` is empty and outlives the builder. `fill_factor`: share of each node's bytes to be
  /// used, kFillFactorMin to 1. Throws invalid_argument.
  explicit TreeBuilder(BTree& tree, double fill_factor = 1.0);
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;
  ~TreeBuilder() = default;

  /// Adds a record whose key is above all before.
  void add(ByteView key, ByteView value);

  /// Makes what was added the content of the tree. Call once.
  void finish();

  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }

 private:
  enum class State : std::uint8_t { building = 1, finished, failed };

  /// The node of an inner level that takes children now.
  struct Spine {
    PageId page;
    AlignedMemory image;
  };

  void require_usable() const;
  void check_record(ByteView key) const;
  void append(ByteView key, ByteView value);
  void append_to_leaf(ByteView key, ByteView stored, std::uint16_t flags);
  void begin_next_leaf(std::optional<ByteView> next);
  void add_child(std::uint32_t level, ByteView separator, PageId left, PageId right);
  void complete();
  void install(std::byte* top);

  [[nodiscard]] bool has_leaf() const noexcept { return !images_.empty(); }
  [[nodiscard]] LeafNode leaf() const noexcept { return {images_.back().bytes.data(), page_size_}; }
  std::byte* next_image(PageId page);
  void write_images();
  void fail() noexcept;

  BTree& tree_;
  const std::uint32_t page_size_;
  const std::uint32_t spare_bytes_;  ///< free bytes that a node keeps
  PageSupply leaf_pages_;
  PageSupply inner_pages_;  ///< also answers for large values
  AlignedMemory memory_;
  /// What stands in memory_, to be written together; the last one is the leaf being filled.
  std::vector<buffer::PageImage> images_;
  std::vector<Spine> spine_;  ///< by level, from level 1 on
  KeyBuffer last_key_;
  std::uint64_t records_ = 0;
  State state_ = State::building;
};

}  // namespace palimpsest::btree
