// Merges runs into one order: all at once if memory has blocks for all; otherwise it first merges
// some neighbours into longer runs, until it has.
//
// It merges neighbours only, so that among equal keys those of the first run still come first. It
// merges those with the least bytes, and no more than needed; their space in the file is reused.
//
// Thread-safety: belongs to one thread; a thread of its own does the transfers.
// Failure: reduce() and next() throw what reading and writing throws; only destruction may follow.
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

namespace palimpsest::bulk {

class RunMerger {
 public:
  /// `runs`: at least one, in the order of their records. `record_bytes`: the longest record. The
  /// merger uses all of the memory. All arguments outlive this.
  RunMerger(const SortShape& shape, SortMemory& memory, SortFile& file, std::span<const Run> runs,
            std::size_t record_bytes);

  /// Merges until the remaining runs can be merged at once, and begins that merge. Calls
  /// meanwhile(), which may throw, now and then.
  void reduce(FunctionRef<void()> meanwhile);
  /// After reduce(): as LoserTree.
  [[nodiscard]] bool next() { return merge_->tree.next(); }
  [[nodiscard]] const RecordSource& top() const noexcept { return merge_->tree.top(); }

  /// The number of runs made by merging others, and their payload.
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
  std::optional<Merge> merge_;  ///< of the remaining runs; after the queue
};

}  // namespace palimpsest::bulk
