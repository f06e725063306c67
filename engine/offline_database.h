// A database that was closed cleanly, opened for inspection: nothing is written, no log is begun.
//
// A cleanly closed database needs neither redo nor undo, and has no pending frees: it consists of
// page file, space map and catalog. It is opened in steps, so that a search for damage continues
// behind the first error.
// Thread-safety: construction and the opening functions belong to one thread; the parts as they say
// themselves. Trees must not be changed.
// Failure: Error as the steps say; corruption where bytes contradict themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/io/device.h"
#include "btree/large/large_value_store.h"
#include "btree/node/node_kind.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_kinds.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "txn/tree_catalog.h"
#include "versioning/bulk_epochs.h"
#include "versioning/entry_memory.h"
#include "versioning/table_attachment.h"

namespace palimpsest::engine {

class OfflineDatabase {
 public:
  /// Opens and locks the page file. Throws locked, not_found, not_closed_cleanly (also if the
  /// database was never finished), corruption and what else PageFile::open() throws. The device
  /// outlives it.
  explicit OfflineDatabase(io::Device& pages);
  OfflineDatabase(const OfflineDatabase&) = delete;
  OfflineDatabase& operator=(const OfflineDatabase&) = delete;

  /// Loads the space map; called first. Throws io_error, corruption.
  void open_space();
  /// Opens the catalog in a pool of `memory_bytes`, or of the pool's minimum; called second. Throws
  /// io_error, corruption, out_of_memory.
  void open_catalog(std::uint64_t memory_bytes);

  [[nodiscard]] buffer::PageFile& file() noexcept { return *file_; }
  [[nodiscard]] const buffer::SpaceMap& space() const noexcept { return *space_; }
  [[nodiscard]] txn::TreeCatalog& catalog() noexcept { return *catalog_; }

 private:
  std::unique_ptr<buffer::PageFile> file_;
  std::optional<buffer::SpaceMap> space_;
  std::optional<buffer::PageWriter> writer_;  ///< the pool requires one; nothing is ever dirty
  std::optional<btree::NodeKind> node_kind_;
  versioning::EntryMemory entries_;
  versioning::TableAttachment tables_{entries_};
  buffer::PageKinds kinds_;
  std::optional<buffer::BufferPool> pool_;
  versioning::BulkEpochs epochs_{entries_};
  std::optional<btree::LargeValueStore> large_values_;
  std::optional<txn::TreeCatalog> catalog_;
};

}  // namespace palimpsest::engine
