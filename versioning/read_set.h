// What a serializable transaction has read, as predicates over keys: single keys, whether there was
// a record or not, and ranges. For each record that other transactions have changed meanwhile, its
// commit asks whether it was read, or would have been (txn/transaction.h).
//
// A key is kept as a hash of 64 bits, a range by its bounds. So the answer may be yes for a record
// that was not read, once in 2^64 / keys times.
//
// The set lives within the database's memory (read_memory.h). When it may not grow, it becomes
// coarser, the tree that takes most of it first, a step each time:
//
//   keys                        each *stretch*, up to kStretchKeys keys that were read one after
//                               the other and lie near each other, becomes the range from its
//                               least to its greatest key
//   ranges, of which some meet  those are joined
//   ranges apart                neighbours are joined, those with small gaps first, until half of
//                               them are left
//   one range                   the whole tree counts as read
//
// Without memory at all, all trees count as read. A transaction that reads keys in order loses
// hardly anything by the first step; one that reads everywhere comes to the last one sooner, and
// its commit is refused for changes of records that it has not read.
//
// Invariant: covers(k) for each k that was added since begin(), and for each k in a range that was
//            added or extended: never no for what was read.
// Argument: a key is in `keys`, and within the bounds of its stretch, which widen as keys are added
// and are put together when the keys are sorted (seal). A step replaces keys by ranges that contain
// them, ranges by one that contains all of them and the gaps between, or everything by `whole`:
// each predicate implies its replacement. A range may be extended after its place in the list has
// changed (`arrangement`): then [from, from) is added, and extended in its place, where `from` is
// where the range once began. The range [l, u), which is covered still, had l <= from <= u, so
// extending it up to k adds [u, k], a part of [from, k], and down to k adds [k, l), a part of [k,
// from).
//
// Life: begin -> (add ... -> seal -> covers) ... -> end. The slot's next transaction inherits
// little memory, and none if memory is tight.
// Failure: none.
// Thread-safety: belongs to its transaction.
// Source: precision locking, HyPer-MVCC 2.3; it distinguishes rows, but not their columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "versioning/read_memory.h"

namespace palimpsest::versioning {

class ReadSet {
 public:
  /// A range that is read step by step.
  struct RangeId {
    std::uint32_t tree = 0;
    std::uint32_t range = 0;
    std::uint32_t arrangement = 0;  ///< of the tree's ranges at that time
    std::string from{};             ///< where the range began
  };

  /// `memory` outlives it.
  explicit ReadSet(ReadMemory& memory) noexcept : memory_(memory) {}
  ReadSet(const ReadSet&) = delete;
  ReadSet& operator=(const ReadSet&) = delete;
  ~ReadSet();

  /// Starts empty: nothing has been read.
  void begin() noexcept { end(); }
  /// The set is not asked any more: frees memory.
  void end() noexcept;
  [[nodiscard]] bool empty() const noexcept { return used_ == 0 && !everything_; }

  void add_key(TreeId tree, ByteView key) noexcept;
  /// Adds all keys from `lower` on and below `upper`; without `upper`, to the end of the tree.
  RangeId add_range(TreeId tree, ByteView lower, std::optional<ByteView> upper) noexcept;
  /// Extends the range to contain this key, and all between.
  void extend_to(RangeId& id, ByteView key) noexcept;
  /// Extends the range to begin, or end, there if it did not reach as far before.
  void extend_down_to(RangeId& id, ByteView lower) noexcept;
  void extend_up_to(RangeId& id, std::optional<ByteView> upper) noexcept;

  /// Makes covers() callable, until the next addition.
  void seal() noexcept;
  [[nodiscard]] bool covers(TreeId tree, ByteView key) const noexcept;

  /// Memory, while the set grows and at rest.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept { return bytes_; }

  static constexpr std::size_t kStretchKeys = 128;
  /// What each set may take, whatever the other sets have.
  static constexpr std::size_t kGrantedBytes = 2048;

 private:
  struct Range {
    std::string lower;
    std::optional<std::string> upper;  ///< first key above it
  };
  struct Tree {
    TreeId id{};
    bool whole = false;
    std::uint32_t arrangement = 0;    ///< changes when ranges change their places
    std::size_t stretch_keys = 0;     ///< in the last stretch
    std::vector<std::uint64_t> keys;  ///< hashes; ascending once sealed
    std::vector<Range> stretches;     ///< of the keys
    std::vector<Range> ranges;        ///< by RangeId; ascending and apart once sealed
  };

  [[nodiscard]] Tree* tree_of(TreeId id);
  template <class Add>
  void with_memory(const Add& add) noexcept;
  [[nodiscard]] RangeId add_to(Tree& tree, ByteView lower, std::optional<ByteView> upper);
  enum class Bound : std::uint8_t { lower = 1, upper };
  [[nodiscard]] Range* current(RangeId& id);
  void move_bound(RangeId& id, Bound which, ByteView key, ByteView behind = {});

  // Memory
  [[nodiscard]] bool try_take(std::size_t bytes) noexcept;
  void give(std::size_t bytes) noexcept;
  template <class Item>
  [[nodiscard]] bool has_room(std::vector<Item>& items);
  template <class Item>
  [[nodiscard]] bool require_room(Tree& tree, std::vector<Item> Tree::* items);
  template <class Item>
  void drop(std::vector<Item>& items) noexcept;
  [[nodiscard]] bool require(Tree& tree, std::size_t bytes);
  [[nodiscard]] bool put(Tree& tree, std::string& into, ByteView key, ByteView behind = {});
  void replace(std::string& text, std::string fresh) noexcept;
  void free_text(Range& range) noexcept;
  [[nodiscard]] static std::size_t bytes_of(const Tree& tree) noexcept;

  // Coarsening
  void coarsen(Tree& asking);
  void coarsen_tree(Tree& tree);
  void take_whole(Tree& tree) noexcept;
  void keys_to_ranges(Tree& tree);
  void arrange(std::vector<Range>& ranges) noexcept;
  void halve(std::vector<Range>& ranges) noexcept;
  void join_neighbours(std::vector<Range>& ranges) noexcept;
  void shrink(std::vector<Range>& ranges);
  template <class IsJoined>
  void join_if(std::vector<Range>& ranges, const IsJoined& is_joined) noexcept;
  [[nodiscard]] bool widen_stretch(Tree& tree, ByteView key);
  [[nodiscard]] static bool is_far_from_last(const Tree& tree, ByteView key) noexcept;

  ReadMemory& memory_;
  std::vector<Tree> trees_;  ///< the first used_ are in use
  std::size_t used_ = 0;
  std::size_t last_ = 0;  ///< the tree that was added to last
  std::size_t bytes_ = 0;
  bool everything_ = false;
};

}  // namespace palimpsest::versioning
