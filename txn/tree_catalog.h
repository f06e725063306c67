// The trees of a database: their names, ids and root pages, stored in a tree of their own; and the
// open trees.
//
// The page file's header names the catalog's root. Making a tree is a transaction of its own,
// durable before the tree can be used.
// Invariant: after the making of a tree was undone, its id is assigned again only by a transaction
// that is not durable before the undo is. Otherwise a crash between the two would leave two trees
// of one id, one of them to be undone (Transactions::cover_all_appended()).
//
// On disk: the catalog is tree 1; a record's key is the tree's name, its value (little-endian):
//    0  4  tree id    4  4  zero    8  8  root page
// Latching: making_ is held while a tree is made, across I/O. mutex_ protects the tables; it is
// held briefly, except while frames are freed for a page of root places.
// Thread-safety: all functions, from any thread, except where stated.
// Failure: as the trees'; corruption for a record that no catalog would have written.
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

namespace palimpsest::txn {

inline constexpr TreeId kCatalogTree{1};
/// Longest name of a tree in bytes; fits pages of every size.
inline constexpr std::size_t kTreeNameBytesMax = 255;

/// What a record of the catalog names; nothing if the bytes are none.
struct CatalogedTree {
  TreeId id{};
  PageId root{};
};
[[nodiscard]] std::optional<CatalogedTree> tree_in_catalog(ByteView record) noexcept;

class TreeCatalog final : public TreeDirectory {
 public:
  /// All arguments outlive this.
  TreeCatalog(buffer::BufferPool& pool, btree::LargeValueStore& large_values,
              versioning::BulkEpochs& epochs) noexcept
      : pool_(pool), large_values_(large_values), epochs_(epochs) {}

  /// Makes an empty catalog, in a transaction; returns its root page. No other thread uses this.
  [[nodiscard]] PageId create(Transactions& transactions);
  /// Opens the catalog by its root page, and learns all trees' roots. No other thread uses this;
  /// called again after changes have been undone. Throws out_of_memory, at once, if memory has no
  /// room for so many roots.
  void open(PageId root);

  /// Whether memory has room for another tree: the places of roots (buffer/root_places.h) take at
  /// most a quarter of it, that is, some thousands of trees per MiB.
  [[nodiscard]] bool has_room() const;
  /// Throws out_of_memory if it has not. Concurrent callers may exceed the bound by one tree each.
  /// The database's own trees are made without this check, and existing trees are always opened:
  /// what was made in this memory can be opened in it.
  void require_room() const;

  /// Makes a tree, durably. Returns null if there is one of that name. Throws invalid_argument for
  /// an empty name or one beyond kTreeNameBytesMax; as transactions do. `inside`: the transaction
  /// that makes this call, if there is one.
  [[nodiscard]] btree::BTree* make(Transactions& transactions, std::string_view name,
                                   const Transaction* inside = nullptr);
  // These open trees, which stay open until the database is closed. They read no page of the tree:
  // the first access to a damaged page reports it. Throw out_of_memory.

  /// Null if there is none.
  [[nodiscard]] btree::BTree* find(std::string_view name);
  /// Structure::move_root() of a tree that has a name, in a transaction.
  void move_root(Transactions& transactions, TreeId id, btree::PageMoves& walk);
  /// Null if there is none of this id.
  [[nodiscard]] btree::BTree* find(TreeId id);
  /// The tree of an id that exists.
  [[nodiscard]] btree::BTree& tree(TreeId id);
  [[nodiscard]] std::vector<std::string> names() const;

  struct Entry {
    std::string name;
    TreeId id{};
    PageId root{};
  };
  /// Open trees that hold at least this many bytes of removed records.
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
    std::unique_ptr<btree::BTree> tree;  ///< null until it is opened
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

}  // namespace palimpsest::txn
