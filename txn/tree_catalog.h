// The trees of a database: their names, ids and root pages, in a tree of their own; and the open
// ones.
//
// The catalog's root is named by the page file's header. Making a tree is a transaction of its own,
// durable before anybody can use the tree.
// Invariant: an id is given out again, after the making of its last tree was undone, only by a
//   transaction that is not durable before what undid that: else a crash between the two would
//   leave two trees of one id, one to be undone (Transactions::cover_all_appended()).
//
// On disk: the catalog is tree 1; a record's key is the tree's name, its value (little-endian):
//    0  4  tree id    4  4  zero    8  8  root page
// Latching: making_ is held while a tree is made, across I/O; mutex_ over the tables, held briefly,
//           but while frames are freed for a page of places of roots.
// Thread-safety: all functions, from any thread, but for those that say otherwise.
// Failure: as the trees'; corruption for a record that is none of a catalog.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "btree/btree.h"
#include "btree/large/large_value_store.h"
#include "buffer/buffer_pool.h"
#include "txn/transactions.h"
#include "txn/tree_directory.h"

namespace palimpsest::engine {

inline constexpr TreeId kCatalogTree{1};
/// Longest name of a tree in bytes; fits pages of every size.
inline constexpr std::size_t kTreeNameBytesMax = 255;

class TreeCatalog final : public txn::TreeDirectory {
 public:
  /// All outlive it.
  TreeCatalog(buffer::BufferPool& pool, btree::LargeValueStore& large_values,
              versioning::BulkEpochs& epochs) noexcept
      : pool_(pool), large_values_(large_values), epochs_(epochs) {}

  /// Makes an empty catalog, in a transaction; returns its root page. Alone.
  [[nodiscard]] PageId create(txn::Transactions& transactions);
  /// Opens it by its root page, and learns where all trees are. Alone; again after changes have
  /// been undone. Throws out_of_memory, at once, if memory has no place for so many roots.
  void open(PageId root);

  /// Whether memory has room for another tree: the places of roots (buffer/root_places.h) take at
  /// most a quarter of it, that is, some thousands of trees a MiB.
  [[nodiscard]] bool has_room() const;
  /// Throws out_of_memory if it has not. Who asks beside others may make one more each; the
  /// database's own trees are made all the same, and what there is is opened: so what has been made
  /// in this memory can be opened in it.
  void require_room() const;

  /// Makes a tree, durably. Nothing if there is one of that name. Throws invalid_argument for an
  /// empty name or one beyond kTreeNameBytesMax; as transactions do.
  /// `inside`: the transaction whose call it is part of, if there is one.
  [[nodiscard]] btree::BTree* make(txn::Transactions& transactions, std::string_view name,
                                   const txn::Transaction* inside = nullptr);
  // Opens trees, which stay open until the database is closed. No page of theirs is read: one that
  // is damaged is noticed by whoever needs it. Throws out_of_memory.

  /// Null if there is none.
  [[nodiscard]] btree::BTree* find(std::string_view name);
  /// Structure::move_root() of a tree that has a name, in a transaction.
  void move_root(txn::Transactions& transactions, TreeId id, btree::PageMoves& walk);
  /// Null if there is none of this id.
  [[nodiscard]] btree::BTree* find(TreeId id);
  /// A tree that there is.
  [[nodiscard]] btree::BTree& tree(TreeId id);
  [[nodiscard]] std::vector<std::string> names() const;

  struct Entry {
    std::string name;
    TreeId id{};
    PageId root{};
  };
  /// Open trees of which at least so much was removed and is still there.
  [[nodiscard]] std::vector<TreeId> with_dead(std::uint64_t bytes_min) const;
  /// All trees, the catalog itself first, with an empty name.
  [[nodiscard]] std::vector<Entry> entries() const;

  // TreeDirectory
  [[nodiscard]] std::uint32_t page_size() const noexcept override {
    return pool_.page_size_bytes();
  }
  [[nodiscard]] btree::BTree& tree_of(const btree::TreeRecord& change) override;
  void creation_undone(TreeId tree) override;

 private:
  struct Known {
    std::string name;
    PageId root{};
    std::unique_ptr<btree::BTree> tree;  ///< once it is open
  };

  using Names = std::map<std::string, TreeId, std::less<>>;

  [[nodiscard]] btree::BTree& open_known(TreeId id, Known& known);
  [[nodiscard]] TreeId next_id() const;
  void add(ByteView name, ByteView value);
  void require_places() const;

  buffer::BufferPool& pool_;
  btree::LargeValueStore& large_values_;
  versioning::BulkEpochs& epochs_;
  std::mutex making_;
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::map<TreeId, Known> trees_;
  Names by_name_;
};

}  // namespace palimpsest::engine
