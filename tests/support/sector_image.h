// The content of one simulated file: sectors in copy-on-write blocks, so that copying an image of
// any size costs a few pointers.
//
// Only the image with a block's or node's token may change it in place; share() gives both images
// new tokens, so that from then on each copies what it changes. (Counting references instead would
// need a fence that ThreadSanitizer does not understand.) Thread-safety: none; images that share
// blocks may be used by different threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace palimpsest::test {

inline constexpr std::size_t kSectorBytes = 512;

class SectorImage {
 public:
  SectorImage();
  SectorImage(SectorImage&&) = default;
  SectorImage& operator=(SectorImage&&) = default;

  /// A copy; cheap.
  [[nodiscard]] SectorImage share();

  /// Bytes that were never written are zero.
  void read(std::uint64_t offset_bytes, MutableBytes into) const;
  void write(std::uint64_t offset_bytes, ConstBytes from);
  /// Makes everything from `size_bytes` on zero.
  void cut(std::uint64_t size_bytes);

 private:
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kBlocksPerNode = 256;
  using Token = std::shared_ptr<const char>;

  struct Block {
    Token owner;
    std::array<std::byte, kBlockBytes> bytes{};
  };
  struct Node {
    Token owner;
    std::array<std::shared_ptr<Block>, kBlocksPerNode> blocks;
  };

  [[nodiscard]] const Block* find(std::uint64_t block) const;
  [[nodiscard]] Block& own(std::uint64_t block);

  Token token_;
  std::vector<std::shared_ptr<Node>> nodes_;
};

}  // namespace palimpsest::test
