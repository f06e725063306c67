// Merges runs into one order: all at once if the memory has blocks for all, else some neighbours
// into a longer one first, until it has.
//
// Neighbours only: so of equal keys, those of the first run still come first. Those with the least
// bytes are merged, and no more than needed; what they took in the file is used again.
//
// Thread-safety: belongs to one thread; a thread of its own transfers.
// Failure: reduce() and next() throw what reading and writing throws; nothing but destroying it may
//          follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "palimpsest/function_ref.h"

#include "bulk/sort/loser_tree.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/run_reader.h"
#include "bulk/sort/sort_file.h"
#include "bulk/sort/sort_memory.h"
#include "bulk/sort/sort_shape.h"
#include "bulk/sort/transfer_queue.h"

namespace palimpsest::engine {

class RunMerger {
 public:
  /// `runs`, at least one, in the order of their records, none of which is longer than
  /// `record_bytes`. All of the memory is its own. All outlive it.
  RunMerger(const SortShape& shape, SortMemory& memory, SortFile& file, std::span<const Run> runs,
            std::size_t record_bytes);

  /// Merges until the rest can be merged at once, and begins with that. Calls meanwhile() now and
  /// then, which may throw.
  void reduce(FunctionRef<void()> meanwhile);
  /// After reduce(): as LoserTree.
  [[nodiscard]] bool next() { return merge_->tree.next(); }
  [[nodiscard]] const RecordSource& top() const noexcept { return merge_->tree.top(); }

  /// Runs that were made of others, and their payload.
  [[nodiscard]] std::uint64_t merges() const noexcept { return merges_; }
  [[nodiscard]] std::uint64_t merged_bytes() const noexcept { return merged_bytes_; }

 private:
  struct Merge {
    std::vector<std::unique_ptr<RunReader>> readers;
    LoserTree tree;
  };

  [[nodiscard]] std::size_t choose(std::size_t count) const noexcept;
  void merge(std::size_t first, std::size_t count, FunctionRef<void()> meanwhile);
  [[nodiscard]] Merge open(std::span<const Run> runs);

  const SortShape shape_;
  const RunBlocks blocks_;
  SortMemory& memory_;
  SortFile& file_;
  const std::size_t record_bytes_;
  const std::size_t fan_in_;
  std::vector<Run> runs_;
  std::uint64_t last_number_;
  std::uint64_t merges_ = 0;
  std::uint64_t merged_bytes_ = 0;
  TransferQueue queue_;
  std::optional<Merge> merge_;  ///< of what is left; after the queue
};

}  // namespace palimpsest::engine
