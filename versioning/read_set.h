// What a serializable transaction has read, as predicates over keys: single keys, whether there was
// a record or not, and ranges. Its commit asks of each record that others have changed meanwhile
// whether it was read, or would have been (txn/transaction.h).
//
// A key is kept as a hash of 64 bits, a range by its bounds. So the answer may be yes for a record
// that was not read, once in 2^64 / keys times, and is never no for one that was. When a
// transaction has read too many keys or ranges of a tree, it counts as having read all of that
// tree; when there is no memory, of all trees.
//
// Life: begin -> (add ... -> seal -> covers) ... Memory stays for the next transaction of the slot,
// a little of it.
// Failure: none.
// Thread-safety: belongs to its transaction.
// Source: precision locking, HyPer-MVCC 2.3; rows are told apart, their columns are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::versioning {

class ReadSet {
 public:
  /// A range that is read step by step.
  struct RangeId {
    std::uint32_t tree = 0;
    std::uint32_t range = 0;
  };

  /// Nothing has been read.
  void begin() noexcept;
  [[nodiscard]] bool empty() const noexcept { return used_ == 0 && !everything_; }

  void add_key(TreeId tree, ByteView key) noexcept;
  /// All keys from `lower` on and below `upper`, which may be nothing: to the end of the tree.
  RangeId add_range(TreeId tree, ByteView lower, std::optional<ByteView> upper) noexcept;
  /// So that it contains this key, and all between.
  void extend_to(RangeId id, ByteView key) noexcept;
  /// So that it begins, or ends, there if it did not before.
  void extend_down_to(RangeId id, ByteView lower) noexcept;
  void extend_up_to(RangeId id, std::optional<ByteView> upper) noexcept;

  /// It can be asked, until something is added.
  void seal() noexcept;
  [[nodiscard]] bool covers(TreeId tree, ByteView key) const noexcept;

  static constexpr std::size_t kKeysMax = std::size_t{1} << 20U;    ///< of a tree
  static constexpr std::size_t kRangesMax = std::size_t{1} << 14U;  ///< of a tree

 private:
  struct Range {
    std::string lower;
    std::optional<std::string> upper;  ///< first key above it
  };
  struct Tree {
    TreeId id{};
    bool whole = false;
    std::vector<std::uint64_t> keys;  ///< hashes; ascending once sealed
    std::vector<Range> ranges;        ///< by RangeId
    std::vector<Range> apart;         ///< the same, ascending, as it was sealed
  };

  [[nodiscard]] Tree& tree_of(TreeId id);
  /// Calls add(); without memory everything counts as read.
  template <class Add>
  void with_memory(const Add& add) noexcept;
  /// The same, add(range), unless all of the tree counts as read.
  template <class Add>
  void extend(RangeId id, const Add& add) noexcept;
  static void take_whole(Tree& tree) noexcept;
  static void set_apart(Tree& tree);

  std::vector<Tree> trees_;  ///< the first used_ are in use
  std::size_t used_ = 0;
  std::size_t last_ = 0;  ///< the tree that was added to last
  bool everything_ = false;
};

}  // namespace palimpsest::versioning
