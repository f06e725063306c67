// How runs of leaves get to disk (leaf_builder.h): the memory in which they are built, and the
// thread that writes what is full. Made for one run after the other, so that neither is made anew
// for each; and the next run's owner can collect records for it while the last one is being
// written.
//
//   LeafWriter writer(pool);   // of a bulk, of the making of an index
//   LeafBuilder run(pool, tree, ...writer);
//
// Memory: kTransfers transfers at most, each when it is needed first; they stay until the end.
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

namespace palimpsest::btree {

class LeafWriter {
 public:
  /// Leaves are written in transfers of this size.
  static constexpr std::size_t kTransferBytes = std::size_t{1} << 20;
  /// A run of all that a bulk keeps (bulk/record_buffer.h) finds room without waiting.
  static constexpr std::size_t kTransfers = 6;

  /// Pages that are written together, one behind the other in memory.
  struct Transfer {
    AlignedMemory memory;
    std::vector<buffer::PageImage> images{};
  };

  /// The pool outlives it.
  explicit LeafWriter(buffer::BufferPool& pool);
  LeafWriter(const LeafWriter&) = delete;
  LeafWriter& operator=(const LeafWriter&) = delete;
  /// Waits for what is under way, as drop().
  ~LeafWriter() = default;

  /// Goes on with an empty transfer: the one that was filled longest ago, when it is written.
  void next();
  [[nodiscard]] Transfer& filling() noexcept { return transfers_[filling_]; }
  [[nodiscard]] const Transfer& filling() const noexcept { return transfers_[filling_]; }
  /// Begins to write the transfer that is filled.
  void write();

  /// Begins to make durable what is being written.
  void harden();
  /// Waits for everything that was begun.
  void await();
  /// Nothing is under way any more, done or not.
  void drop() noexcept;

 private:
  buffer::BufferPool& pool_;
  std::array<Transfer, kTransfers> transfers_;
  std::size_t filling_ = 0;
  std::optional<buffer::FreshWriter> writer_;  ///< once there is anything to write; last: it uses
                                               ///< the rest
};

}  // namespace palimpsest::btree
