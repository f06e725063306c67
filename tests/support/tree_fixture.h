// A whole database below the engine, for tests: device, page file, buffer pool, one tree.
//
// The tree's root page is the catalog root of the page file, so that it is found when the file is
// opened again. The test provides the device, which outlives the database: a simulated disk, or a
// directory that is removed at the end (temporary_directory.h). Thread-safety: as the parts;
// construction, close() and destruction belong to one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/io/device.h"
#include "btree/btree.h"
#include "btree/large/large_value_store.h"
#include "btree/node/node_kind.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_kinds.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "versioning/entry_memory.h"
#include "versioning/table_attachment.h"

namespace palimpsest::test {

struct TreeOptions {
  std::uint32_t page_size_bytes = 4096;
  std::uint32_t frames = 64;
};

/// The pool's memory for so many frames.
[[nodiscard]] std::uint64_t pool_memory_bytes(const TreeOptions& options);

class TreeDatabase {
 public:
  static constexpr TreeId kTree{7};
  static constexpr const char* kFileName = "pages";

  /// Makes the file and an empty tree. Throws what its parts throw.
  [[nodiscard]] static std::unique_ptr<TreeDatabase> create(io::Device& device,
                                                            const TreeOptions& options);
  /// Opens a file after close().
  [[nodiscard]] static std::unique_ptr<TreeDatabase> open(io::Device& device,
                                                          const TreeOptions& options);

  /// Writes everything and marks the file clean. The database remains usable.
  void close();

  [[nodiscard]] btree::BTree& tree() { return *tree_; }
  [[nodiscard]] buffer::BufferPool& pool() { return pool_; }
  [[nodiscard]] buffer::SpaceMap& space() { return space_; }
  [[nodiscard]] buffer::PageWriter& writer() { return writer_; }
  [[nodiscard]] buffer::PageFile& file() { return *file_; }
  [[nodiscard]] btree::LargeValueStore& large_values() { return large_values_; }
  /// The memory of the writers' entries; the writers must end before the database does.
  [[nodiscard]] versioning::EntryMemory& entries() { return entries_; }

 private:
  TreeDatabase(std::unique_ptr<buffer::PageFile> file, const TreeOptions& options);

  std::unique_ptr<buffer::PageFile> file_;
  buffer::PageWriter writer_;
  buffer::SpaceMap space_;
  btree::NodeKind node_kind_;
  versioning::EntryMemory entries_;
  versioning::TableAttachment tables_{entries_};
  buffer::PageKinds kinds_;
  buffer::BufferPool pool_;
  btree::LargeValueStore large_values_;
  std::optional<btree::BTree> tree_;
};

/// Success if tree and space map pass the audit: no fault, no page lost, none used twice.
[[nodiscard]] ::testing::AssertionResult sound(TreeDatabase& database);

}  // namespace palimpsest::test
