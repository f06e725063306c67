#include "bulk/sort/run_blocks.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "bulk/sort/sort_memory.h"

namespace palimpsest::bulk {
namespace {

constexpr std::size_t kChecked = sizeof(BlockHeader::checksum);

std::size_t whole_transfers(std::size_t bytes) noexcept {
  return (bytes + kSortAlignmentBytes - 1) / kSortAlignmentBytes * kSortAlignmentBytes;
}

std::uint64_t checksum_of(ConstBytes block, std::size_t payload_bytes) noexcept {
  return checksum(block.subspan(kChecked, sizeof(BlockHeader) - kChecked + payload_bytes));
}

}  // namespace

std::uint64_t RunBlocks::file_bytes(std::uint64_t payload_bytes) const noexcept {
  const std::uint64_t blocks = count(payload_bytes);
  return blocks == 0 ? 0 : (blocks - 1) * block_bytes_ + transfer_bytes(payload_bytes, blocks - 1);
}

std::size_t RunBlocks::transfer_bytes(std::uint64_t payload_bytes,
                                      std::uint64_t block) const noexcept {
  const std::uint64_t rest = payload_bytes - block * payload_max();
  return rest >= payload_max() ? block_bytes_ : whole_transfers(sizeof(BlockHeader) + rest);
}

void seal_block(MutableBytes block, std::uint64_t run, std::uint64_t number,
                std::size_t payload_bytes) noexcept {
  BlockHeader header{.checksum = 0,
                     .run = run,
                     .block = number,
                     .payload_bytes = static_cast<std::uint32_t>(payload_bytes),
                     .reserved = 0};
  std::memcpy(block.data(), &header, sizeof header);
  std::ranges::fill(block.subspan(sizeof header + payload_bytes), std::byte{0});
  header.checksum = checksum_of(block, payload_bytes);
  std::memcpy(block.data(), &header.checksum, sizeof header.checksum);
}

std::optional<std::string_view> fault_of_block(ConstBytes block, std::uint64_t run,
                                               std::uint64_t number,
                                               std::size_t payload_bytes) noexcept {
  BlockHeader header;
  std::memcpy(&header, block.data(), sizeof header);
  if (header.checksum != checksum_of(block, payload_bytes)) {
    return "its checksum does not match";
  }
  if (header.run != run || header.block != number || header.payload_bytes != payload_bytes) {
    return "it holds another block";
  }
  return std::nullopt;
}

}  // namespace palimpsest::bulk
