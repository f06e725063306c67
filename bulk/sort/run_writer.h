// Writes one run of records, block by block: one block is filled while the other is being written.
//
// Thread-safety: belongs to one thread. Failure: add() and finish() throw Error io_error, no_space.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/transfer_queue.h"

namespace palimpsest::bulk {

class RunWriter {
 public:
  /// `run`: the location, and the payload that will be added. `memory`: two blocks, aligned. All
  /// arguments outlive this.
  RunWriter(TransferQueue& queue, const RunBlocks& blocks, const Run& run,
            MutableBytes memory) noexcept
      : queue_(queue), blocks_(blocks), run_(run), memory_(memory) {}
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;
  ~RunWriter();

  void add(ByteView key, ByteView value);
  /// All payload has been added: waits until it is written.
  void finish();

 private:
  [[nodiscard]] MutableBytes block() const noexcept {
    return memory_.subspan((number_ % 2) * blocks_.block_bytes(), blocks_.block_bytes());
  }
  void put(const void* bytes, std::size_t size);
  void write();

  TransferQueue& queue_;
  const RunBlocks blocks_;
  const Run run_;
  const MutableBytes memory_;
  std::array<TransferQueue::Entry, 2> entries_;
  std::uint64_t number_ = 0;  ///< of the block being filled
  std::size_t filled_ = 0;    ///< payload in it
};

}  // namespace palimpsest::bulk
