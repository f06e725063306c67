// The format of a sorted run in the temporary file: consecutive blocks of one size. A block that is
// not as it was written is not used.
//
// The payloads of the blocks form a stream of records: lengths (sort_buffer.h), key, value; records
// span blocks. The last block is as short as its payload allows.
//
//   | offset | size | of a block |
//   |---|---|---|
//   | 0 | 8 | checksum of all bytes behind it, up to the payload's end |
//   | 8 | 8 | number of the run, from 1 on; unique within a sort |
//   | 16 | 8 | number of the block in its run, from 0 on |
//   | 24 | 4 | bytes of payload |
//   | 28 | 4 | zero |
//   | 32 | | payload, then zeros up to a multiple of the device's transfer unit |
//
// Numbers have the machine's byte order: the file does not outlive the process, or stays for
// another process on this machine (saved_sort.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace palimpsest::bulk {

struct BlockHeader {
  std::uint64_t checksum;
  std::uint64_t run;
  std::uint64_t block;
  std::uint32_t payload_bytes;
  std::uint32_t reserved;
};
static_assert(sizeof(BlockHeader) == 32 && offsetof(BlockHeader, payload_bytes) == 24);

/// The location of a run.
struct Run {
  std::uint64_t number = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t records = 0;
};

/// How the runs of a sort are divided into blocks.
class RunBlocks {
 public:
  explicit RunBlocks(std::size_t block_bytes) noexcept : block_bytes_(block_bytes) {}

  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }
  [[nodiscard]] std::size_t payload_max() const noexcept {
    return block_bytes_ - sizeof(BlockHeader);
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t payload_bytes) const noexcept {
    return (payload_bytes + payload_max() - 1) / payload_max();
  }
  /// A run's size in the file, in whole transfers.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t payload_bytes) const noexcept;
  /// The size of the transfer of this block of a run.
  [[nodiscard]] std::size_t transfer_bytes(std::uint64_t payload_bytes,
                                           std::uint64_t block) const noexcept;

 private:
  std::size_t block_bytes_;
};

/// Completes the block: writes its header; its payload lies behind the header already.
void seal_block(MutableBytes block, std::uint64_t run, std::uint64_t number,
                std::size_t payload_bytes) noexcept;
/// Checks that this is the given block with this much payload: the fault, or nothing.
[[nodiscard]] std::optional<std::string_view> fault_of_block(ConstBytes block, std::uint64_t run,
                                                             std::uint64_t number,
                                                             std::size_t payload_bytes) noexcept;

}  // namespace palimpsest::bulk
