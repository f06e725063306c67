#include "tests/support/tree_fixture.h"

#include <utility>

#include "btree/audit.h"
#include "tests/support/wait_for_writes.h"

namespace palimpsest::test {
namespace {

buffer::PageKinds kinds_with(const btree::NodeKind& node_kind) {
  buffer::PageKinds kinds;
  node_kind.register_in(kinds);
  return kinds;
}

buffer::PageFileOptions file_options(const TreeOptions& options) {
  buffer::PageFileOptions file;
  file.page_size_bytes = options.page_size_bytes;
  file.batch_pages = buffer::kBatchPagesMin;
  return file;
}

}  // namespace

std::uint64_t pool_memory_bytes(const TreeOptions& options) {
  return buffer::BufferPool::memory_bytes_min(options.page_size_bytes) /
         buffer::BufferPool::kFramesMin * options.frames;
}

TreeDatabase::TreeDatabase(std::unique_ptr<buffer::PageFile> file, const TreeOptions& options)
    : file_(std::move(file)),
      writer_(*file_),
      space_(*file_),
      node_kind_(*file_),
      kinds_(kinds_with(node_kind_)),
      pool_(*file_, writer_, space_, kinds_, {.memory_bytes = pool_memory_bytes(options)},
            &tables_),
      large_values_(*file_, writer_, space_, &pool_) {}

std::unique_ptr<TreeDatabase> TreeDatabase::create(io::Device& device, const TreeOptions& options) {
  std::unique_ptr<TreeDatabase> database(new TreeDatabase(
      buffer::PageFile::create(device, kFileName, file_options(options)), options));
  database->tree_.emplace(btree::BTree::create(database->pool_, database->large_values_, kTree));
  database->file_->set_catalog_root(database->tree_->root_page());
  return database;
}

std::unique_ptr<TreeDatabase> TreeDatabase::open(io::Device& device, const TreeOptions& options) {
  std::unique_ptr<TreeDatabase> database(
      new TreeDatabase(buffer::PageFile::open(device, kFileName), options));
  database->tree_.emplace(btree::BTree::open(database->pool_, database->large_values_, kTree,
                                             database->file_->catalog_root()));
  return database;
}

void TreeDatabase::close() {
  pool_.flush();
  space_.flush(writer_);
  file_->close_cleanly();
}

::testing::AssertionResult sound(TreeDatabase& database) {
  wait_for_writes(database.writer());
  btree::PageSet reached;
  const btree::TreeAudit tree = btree::audit(database.tree(), reached);
  const btree::Findings space = btree::audit_space(database.file(), database.space(), reached);
  if (!tree.sound() || !space.none()) {
    return ::testing::AssertionFailure() << tree.text() << space.text();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace palimpsest::test
