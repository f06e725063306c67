// Reads one run of records, block by block: the next block is prefetched while one is in use.
//
// A record within one block is returned in place; one that spans blocks is assembled in memory.
// Thread-safety: belongs to one thread.
// Failure: next() throws Error io_error; corruption, naming file and offset, for a block that is
// not as it was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "bulk/sort/record_source.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/transfer_queue.h"

namespace palimpsest::bulk {

class RunReader final : public RecordSource {
 public:
  struct Memory {
    MutableBytes blocks;  ///< two, aligned
    MutableBytes record;  ///< room for the longest record, key and value
  };

  /// Begins to read. All arguments outlive this.
  RunReader(TransferQueue& queue, const RunBlocks& blocks, const Run& run,
            const Memory& memory) noexcept;
  ~RunReader() override;

  [[nodiscard]] bool next() override;

 private:
  [[nodiscard]] MutableBytes block(std::uint64_t number) const noexcept {
    return memory_.blocks.subspan((number % 2) * blocks_.block_bytes(), blocks_.block_bytes());
  }
  [[nodiscard]] std::size_t payload_of(std::uint64_t number) const noexcept;
  [[nodiscard]] const std::byte* position() const noexcept {
    return block(number_).data() + sizeof(BlockHeader) + used_;
  }
  [[nodiscard]] std::size_t rest() const noexcept { return payload_ - used_; }
  void request(std::uint64_t number) noexcept;
  void open_next();
  void copy(std::byte* into, std::size_t bytes);
  [[noreturn]] void refuse(std::string_view why) const;

  TransferQueue& queue_;
  const RunBlocks blocks_;
  const Run run_;
  const Memory memory_;
  std::array<TransferQueue::Entry, 2> entries_;
  std::uint64_t number_ = 0;  ///< of the block in use, if opened_ is not 0
  std::uint64_t opened_ = 0;  ///< number of blocks
  std::size_t payload_ = 0;   ///< of the block in use
  std::size_t used_ = 0;      ///< of its payload
  std::uint64_t records_ = 0;
};

}  // namespace palimpsest::bulk
