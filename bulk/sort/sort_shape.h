// How a sort divides its memory: into buffers while records come, and into blocks of runs while
// they are merged.
//
// Thread-safety: values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bulk/sort/run_blocks.h"
#include "bulk/sort/sort_buffer.h"
#include "bulk/sort/sort_memory.h"

namespace palimpsest::bulk {

struct SortShape {
  static constexpr std::size_t kMemoryBytesMin = std::size_t{64} << 10U;
  static constexpr std::size_t kBlockBytesMax = std::size_t{1} << 20U;
  static constexpr std::size_t kThreadsMax = 64;

  std::size_t memory_bytes;
  std::size_t threads;           ///< that sort and write while records come; 0: the caller does
  std::size_t block_bytes;       ///< of runs, and of a transfer
  std::size_t buffer_bytes;      ///< of each of the `threads` + 1 buffers
  std::size_t record_bytes_max;  ///< key and value

  [[nodiscard]] static SortShape of(std::size_t memory_bytes, std::size_t threads) noexcept {
    SortShape shape{};
    shape.memory_bytes = std::max(memory_bytes, kMemoryBytesMin);
    shape.block_bytes =
        std::clamp(std::bit_floor(shape.memory_bytes / 64), kSortAlignmentBytes, kBlockBytesMax);
    shape.threads = std::min({threads, kThreadsMax, shape.memory_bytes / (8 * shape.block_bytes)});
    const std::size_t writers = std::max<std::size_t>(shape.threads, 1);
    shape.buffer_bytes = (shape.memory_bytes - writers * 2 * shape.block_bytes) /
                         (shape.threads + 1) / kSortAlignmentBytes * kSortAlignmentBytes;
    // So that two runs of any records can be merged.
    shape.record_bytes_max = std::min({shape.buffer_bytes - SortBuffer::kOverheadBytes,
                                       shape.memory_bytes / 4, std::size_t{1} << 30U});
    return shape;
  }

  /// The number of runs that can be merged at once, if the longest record has this many bytes: at
  /// least 2.
  [[nodiscard]] std::size_t fan_in(std::size_t record_bytes) const noexcept {
    return (memory_bytes - 2 * block_bytes) / (2 * block_bytes + record_bytes);
  }

  /// Approximate size of the temporary file, for records with `bytes` of keys and values in all and
  /// a longest record of `record_bytes`; 0: they fit into memory.
  [[nodiscard]] std::uint64_t file_bytes(std::uint64_t records, std::uint64_t bytes,
                                         std::size_t record_bytes) const noexcept {
    const std::uint64_t buffered = bytes + records * SortBuffer::kOverheadBytes;
    if (buffered <= (threads + 1) * buffer_bytes) {
      return 0;
    }
    const std::uint64_t runs = buffered / buffer_bytes + 1;
    const std::uint64_t payload = bytes + records * sizeof(RecordLengths);
    const std::uint64_t all =
        RunBlocks(block_bytes).file_bytes(payload) + runs * kSortAlignmentBytes;
    const std::size_t merged = fan_in(record_bytes);
    return runs <= merged ? all : all + all / runs * merged;  // plus the output of one merge
  }
};

}  // namespace palimpsest::bulk
