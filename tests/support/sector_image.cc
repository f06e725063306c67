#include "tests/support/sector_image.h"

#include <algorithm>
#include <cstring>

namespace palimpsest::test {

SectorImage::SectorImage() : token_(std::make_shared<const char>()) {}

SectorImage SectorImage::share() {
  SectorImage copy;
  copy.nodes_ = nodes_;
  token_ = std::make_shared<const char>();
  return copy;
}

const SectorImage::Block* SectorImage::find(std::uint64_t block) const {
  const std::uint64_t node = block / kBlocksPerNode;
  if (node >= nodes_.size() || nodes_[node] == nullptr) {
    return nullptr;
  }
  return nodes_[node]->blocks[block % kBlocksPerNode].get();
}

SectorImage::Block& SectorImage::own(std::uint64_t block) {
  const std::uint64_t index = block / kBlocksPerNode;
  if (index >= nodes_.size()) {
    nodes_.resize(index + 1);
  }
  std::shared_ptr<Node>& node = nodes_[index];
  if (node == nullptr || node->owner != token_) {
    node = node == nullptr ? std::make_shared<Node>() : std::make_shared<Node>(*node);
    node->owner = token_;
  }
  std::shared_ptr<Block>& slot = node->blocks[block % kBlocksPerNode];
  if (slot == nullptr || slot->owner != token_) {
    slot = slot == nullptr ? std::make_shared<Block>() : std::make_shared<Block>(*slot);
    slot->owner = token_;
  }
  return *slot;
}

void SectorImage::read(std::uint64_t offset_bytes, MutableBytes into) const {
  while (!into.empty()) {
    const std::size_t within = offset_bytes % kBlockBytes;
    const std::size_t size = std::min(into.size(), kBlockBytes - within);
    if (const Block* block = find(offset_bytes / kBlockBytes)) {
      std::memcpy(into.data(), block->bytes.data() + within, size);
    } else {
      std::memset(into.data(), 0, size);
    }
    offset_bytes += size;
    into = into.subspan(size);
  }
}

void SectorImage::write(std::uint64_t offset_bytes, ConstBytes from) {
  while (!from.empty()) {
    const std::size_t within = offset_bytes % kBlockBytes;
    const std::size_t size = std::min(from.size(), kBlockBytes - within);
    std::memcpy(own(offset_bytes / kBlockBytes).bytes.data() + within, from.data(), size);
    offset_bytes += size;
    from = from.subspan(size);
  }
}

void SectorImage::cut(std::uint64_t size_bytes) {
  const std::uint64_t first_whole = (size_bytes + kBlockBytes - 1) / kBlockBytes;
  if (const std::size_t within = size_bytes % kBlockBytes;
      within != 0 && find(size_bytes / kBlockBytes) != nullptr) {
    Block& block = own(size_bytes / kBlockBytes);
    std::fill(block.bytes.begin() + static_cast<std::ptrdiff_t>(within), block.bytes.end(),
              std::byte{0});
  }
  const std::uint64_t nodes_kept = (first_whole + kBlocksPerNode - 1) / kBlocksPerNode;
  if (nodes_kept < nodes_.size()) {
    nodes_.resize(nodes_kept);
  }
  for (std::uint64_t block = first_whole; block < nodes_.size() * kBlocksPerNode; ++block) {
    if (find(block) != nullptr) {
      own(block) = Block{.owner = token_};
    }
  }
}

}  // namespace palimpsest::test
