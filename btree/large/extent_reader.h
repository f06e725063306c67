// Reads the blocks of extents: of one value in order, or of several values as a prefetch.
//
// Blocks side by side in the file are one transfer if they lie side by side in memory. So several
// blocks are read into a buffer and copied into frames from there (buffer/block_cache.h); a single
// block is read directly into a frame. The caller validates what was read as large_value_format.h
// says.
// Thread-safety: a reader belongs to one thread. Failure: io_error of the device; without a frame,
// nothing is cached.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/aligned_memory.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "btree/large/large_value_format.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"

namespace palimpsest::btree {

/// Size of transfers, and the most memory of a writer or a read.
inline constexpr std::size_t kExtentBufferBytes = std::size_t{1} << 20;

/// Pages of a buffer for a value or piece of that many blocks.
[[nodiscard]] inline std::uint32_t extent_buffer_pages(std::uint32_t blocks,
                                                       std::uint32_t page_size) noexcept {
  return std::min(blocks, static_cast<std::uint32_t>(kExtentBufferBytes / page_size));
}

/// The most blocks of a value that is cached in frames, and the most prefetched at once.
[[nodiscard]] inline std::uint32_t kept_blocks_max(const buffer::BufferPool& pool) noexcept {
  constexpr std::uint32_t kMost = 64;
  constexpr std::uint32_t kShareOfFrames = 32;
  return std::min(kMost, pool.frame_count() / kShareOfFrames);
}

/// Reads consecutive blocks of one value in batches.
class ExtentReader {
 public:
  /// Reads blocks [first, end). With a pool they may be cached in frames. All outlive the reader.
  ExtentReader(buffer::PageFile& file, buffer::BufferPool* pool, const LargeValueDescriptor& value,
               std::uint32_t first, std::uint32_t end);

  /// Reads the next blocks; false when there are none left.
  [[nodiscard]] bool next_batch();

  [[nodiscard]] std::uint32_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint32_t end() const noexcept { return next_; }
  [[nodiscard]] const buffer::PageRead& page(std::uint32_t block) const noexcept {
    return reads_[block - first_];
  }

  /// Whether the block belongs to the value; throws when the device failed to read it.
  [[nodiscard]] bool holds(std::uint32_t block) const;

  /// Caches the block, which belongs to the value, in a frame for other readers. Its bytes in this
  /// reader are not used any more.
  void keep(std::uint32_t block);

 private:
  [[nodiscard]] MutableBytes memory_for(PageId page, std::uint32_t index);

  buffer::PageFile& file_;
  buffer::BufferPool* const pool_;
  const LargeValueDescriptor& value_;
  const std::uint32_t page_size_;
  const bool is_alone_;      ///< one block is read
  std::uint32_t first_ = 0;  ///< of the batch
  std::uint32_t next_;       ///< behind the batch
  const std::uint32_t end_;
  std::optional<buffer::BlockCache::Filling> frame_;  ///< of the only block
  AlignedMemory memory_;
  std::vector<buffer::PageRead> reads_;
};

/// Blocks of several values that are read together, in file order, and cached.
class BlocksAhead {
 public:
  explicit BlocksAhead(buffer::BufferPool& pool) : pool_(pool), room_(kept_blocks_max(pool)) {}

  /// Adds the blocks of a value, which outlives this, that are in no frame. False if there is no
  /// room for more.
  [[nodiscard]] bool add(const LargeValueDescriptor& value);

  /// Reads them. Skips what cannot be read, or does not belong to the value any more.
  void read();

 private:
  struct Block {
    const LargeValueDescriptor* value;
    std::uint32_t number;
    PageId page;
  };

  buffer::BufferPool& pool_;
  const std::size_t room_;
  std::vector<Block> blocks_;
};

}  // namespace palimpsest::btree
