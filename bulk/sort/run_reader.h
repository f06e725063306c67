// Reads one run of records, block by block: one is read ahead while the other is being used.
//
// A record that lies in one block is shown there; one that does not is put together.
// Thread-safety: belongs to one thread.
// Failure: next() throws Error io_error; corruption for a block that is not what was written,
//          naming file and offset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "bulk/sort/record_source.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/transfer_queue.h"

namespace palimpsest::engine {

class RunReader final : public RecordSource {
 public:
  struct Memory {
    MutableBytes blocks;  ///< two, aligned
    MutableBytes record;  ///< the longest one, key and value
  };

  /// Begins to read. All outlive it.
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
  std::uint64_t number_ = 0;  ///< of the block that is used, if opened_ is not 0
  std::uint64_t opened_ = 0;  ///< blocks
  std::size_t payload_ = 0;   ///< of that block
  std::size_t used_ = 0;      ///< of it
  std::uint64_t records_ = 0;
};

}  // namespace palimpsest::engine
