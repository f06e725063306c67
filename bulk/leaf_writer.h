// Brings runs of leaves to disk (leaf_builder.h): the memory in which they are built, and the
// thread that writes full transfers. Used for one run after the other, so that memory and thread
// are reused; and the owner can collect records for the next run while the last one is being
// written.
//
//   LeafWriter writer(pool);   // one per bulk, or per index build
//   LeafBuilder run(pool, tree, ...writer);
//
// Memory: at most kTransfers transfers, each allocated when it is first needed; freed at the end.
// Latching: none held; the functions wait for I/O.
// Failure: as FreshWriter.
// Thread-safety: belongs to one thread at a time, and to one run.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/aligned_memory.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_writer.h"
#include "bulk/fresh_writer.h"

namespace palimpsest::bulk {

class LeafWriter {
 public:
  /// Leaves are written in transfers of this size.
  static constexpr std::size_t kTransferBytes = std::size_t{1} << 20;
  /// A run of all that a bulk buffers (bulk/record_buffer.h) finds room without waiting.
  static constexpr std::size_t kTransfers = 6;

  /// Pages that are written together, contiguous in memory.
  struct Transfer {
    AlignedMemory memory;
    std::vector<buffer::PageImage> images{};
  };

  /// The pool outlives this.
  explicit LeafWriter(buffer::BufferPool& pool);
  LeafWriter(const LeafWriter&) = delete;
  LeafWriter& operator=(const LeafWriter&) = delete;
  /// Waits for what is under way, as drop().
  ~LeafWriter() = default;

  /// Makes an empty transfer the one being filled: the one that was filled longest ago, once it is
  /// written.
  void next();
  [[nodiscard]] Transfer& filling() noexcept { return transfers_[filling_]; }
  [[nodiscard]] const Transfer& filling() const noexcept { return transfers_[filling_]; }
  /// Begins to write the transfer being filled.
  void write();

  /// Begins to make durable what is being written.
  void harden();
  /// Waits for everything that was begun.
  void await();
  /// Waits until nothing is under way, done or not.
  void drop() noexcept;

 private:
  buffer::BufferPool& pool_;
  std::array<Transfer, kTransfers> transfers_;
  std::size_t filling_ = 0;
  std::optional<FreshWriter> writer_;  ///< made when there is something to write; last: it
                                       ///< uses the rest
};

}  // namespace palimpsest::bulk
