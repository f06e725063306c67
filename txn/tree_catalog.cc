#include "txn/tree_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "btree/cursor.h"
#include "btree/node/node_print.h"

namespace palimpsest::txn {

using btree::BTree;

namespace {

struct StoredTree {
  TreeId id;
  std::uint32_t reserved;
  PageId root;
};
static_assert(sizeof(StoredTree) == 16 && offsetof(StoredTree, root) == 8);

ByteView view_of(const StoredTree& stored) noexcept {
  return {static_cast<const char*>(static_cast<const void*>(&stored)), sizeof stored};
}

}  // namespace

std::optional<CatalogedTree> tree_in_catalog(ByteView record) noexcept {
  StoredTree stored;
  if (record.size() != sizeof stored) {
    return std::nullopt;
  }
  std::memcpy(&stored, record.data(), sizeof stored);
  if (stored.id <= kCatalogTree || stored.reserved != 0 || stored.root == kNoPage) {
    return std::nullopt;
  }
  return CatalogedTree{.id = stored.id, .root = stored.root};
}

PageId TreeCatalog::create(Transactions& transactions) {
  const auto transaction = transactions.begin();
  auto tree = transaction->write([&](const btree::WriteContext& by) {
    return std::make_unique<BTree>(BTree::create(pool_, large_values_, kCatalogTree, by, &epochs_));
  });
  const PageId root = tree->root_page();
  {
    const std::lock_guard lock(mutex_);
    trees_[kCatalogTree] = {.name = "", .root = root, .tree = std::move(tree)};
  }
  transaction->commit();
  return root;
}

// Trees that are open stay open.
void TreeCatalog::open(PageId root) {
  const std::lock_guard lock(mutex_);
  Known& known = trees_[kCatalogTree];
  known.root = root;
  const BTree& tree = open_known(kCatalogTree, known);
  by_name_.clear();
  for (auto& [id, tree_known] : trees_) {
    tree_known.name.clear();
  }
  btree::Cursor cursor(tree);
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    add(cursor.key(), cursor.value());
  }
  require_places();
}

// mutex_ is held.
void TreeCatalog::add(ByteView name, ByteView value) {
  const std::optional<CatalogedTree> stored = tree_in_catalog(value);
  if (!stored) {
    throw Error(ErrorCode::corruption,
                fmt::format("the catalog's record \"{}\" does not describe a tree",
                            btree::printable(name)));
  }
  Known& known = trees_[stored->id];
  if (known.root != kNoPage && (known.root != stored->root || !known.name.empty())) {
    throw Error(ErrorCode::corruption,
                fmt::format("the catalog has tree {} twice: the second is called \"{}\"",
                            raw(stored->id), btree::printable(name)));
  }
  known.root = stored->root;
  known.name = name;
  by_name_[known.name] = stored->id;
}

// mutex_ is held, so a tree is opened once, and its root has one place.
BTree& TreeCatalog::open_known(TreeId id, Known& known) {
  if (known.tree == nullptr) {
    known.tree =
        std::make_unique<BTree>(BTree::open(pool_, large_values_, id, known.root, &epochs_));
  }
  return *known.tree;
}

bool TreeCatalog::has_room() const {
  const std::lock_guard lock(mutex_);
  return trees_.size() < pool_.roots().most() / 2;
}

void TreeCatalog::require_room() const {
  if (!has_room()) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("the configured memory has room for at most {} tables and indexes: "
                            "raise Options::memory_bytes",
                            pool_.roots().most() / 2));
  }
}

// mutex_ is held.
void TreeCatalog::require_places() const {
  const std::uint64_t most = pool_.roots().most();
  if (trees_.size() > most) {
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("{}: there are {} tables and indexes, but the configured memory has room for "
                    "{}: open the database with {} times as much (Options::memory_bytes)",
                    pool_.file().name(), trees_.size(), most, trees_.size() / most + 1));
  }
}

TreeId TreeCatalog::next_id() const {
  const std::lock_guard lock(mutex_);
  return TreeId{raw(trees_.rbegin()->first) + 1};
}

BTree* TreeCatalog::make(Transactions& transactions, std::string_view name,
                         const Transaction* inside) {
  if (name.empty() || name.size() > kTreeNameBytesMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a tree's name has {} bytes: names must have 1 to {} bytes",
                            name.size(), kTreeNameBytesMax));
  }
  const std::lock_guard making(making_);
  if (find(name) != nullptr) {
    return nullptr;
  }
  const TreeId id = next_id();
  std::string name_of_tree(name);  // made now: nothing may fail after the commit
  Names entry;
  entry.emplace(name, id);
  // The tree's making under this id may just have been undone, by a transaction that shares no page
  // with this one: that undo must be durable before this transaction is.
  transactions.cover_all_appended();
  const auto transaction = transactions.begin();
  transaction->work_alone();
  if (inside != nullptr) {
    transaction->work_for(*inside);
  }
  BTree* catalog = nullptr;
  BTree* tree = transaction->write([&](const btree::WriteContext& by) {
    auto made = std::make_unique<BTree>(BTree::create(pool_, large_values_, id, by, &epochs_));
    const std::lock_guard lock(mutex_);
    catalog = &open_known(kCatalogTree, trees_[kCatalogTree]);
    Known& known = trees_[id];  // undo finds the tree by this
    known.root = made->root_page();
    known.tree = std::move(made);
    return known.tree.get();
  });
  const StoredTree stored{.id = id, .reserved = 0, .root = tree->root_page()};
  const auto outcome = transaction->insert(*catalog, name, view_of(stored));
  check(!outcome.existed && !outcome.conflict, "only one tree is created at a time");
  transaction->commit();
  const std::lock_guard lock(mutex_);
  trees_[id].name = std::move(name_of_tree);
  by_name_.merge(entry);
  return tree;
}

BTree* TreeCatalog::find(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &open_known(found->second, trees_[found->second]);
}

// While making_ is held, no tree is made, and no making of a tree with a name is undone.
void TreeCatalog::move_root(Transactions& transactions, TreeId id, btree::PageMoves& walk) {
  const std::lock_guard making(making_);
  std::string name;
  BTree* catalog = nullptr;
  BTree* tree = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto known = trees_.find(id);
    if (known == trees_.end() || known->second.name.empty() || known->second.root < walk.from) {
      return;
    }
    name = known->second.name;
    catalog = &open_known(kCatalogTree, trees_[kCatalogTree]);
    tree = &open_known(id, known->second);
  }
  const auto by = transactions.begin(Durability::asynchronous);
  by->write([&](const btree::WriteContext& context) {
    const PageId root =
        tree->structure().move_root(context, catalog->structure(), name, tree->root_page(), walk);
    const std::lock_guard lock(mutex_);
    trees_[id].root = root;
  });
  by->commit();
}

BTree* TreeCatalog::find(TreeId id) {
  const std::lock_guard lock(mutex_);
  const auto known = trees_.find(id);
  return known == trees_.end() ? nullptr : &open_known(id, known->second);
}

BTree& TreeCatalog::tree(TreeId id) {
  const std::lock_guard lock(mutex_);
  return open_known(id, trees_.at(id));
}

std::vector<std::string> TreeCatalog::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  names.reserve(by_name_.size());
  for (const auto& [name, id] : by_name_) {
    names.push_back(name);
  }
  return names;
}

std::vector<TreeCatalog::Entry> TreeCatalog::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  entries.reserve(trees_.size());
  for (const auto& [id, known] : trees_) {
    entries.push_back({.name = known.name, .id = id, .root = known.root});
  }
  return entries;
}

std::vector<TreeId> TreeCatalog::with_dead(std::uint64_t bytes_min) const {
  const std::lock_guard lock(mutex_);
  std::vector<TreeId> ids;
  for (const auto& [id, known] : trees_) {
    if (known.tree != nullptr && known.tree->dead().bytes() >= bytes_min) {
      ids.push_back(id);
    }
  }
  return ids;
}

BTree& TreeCatalog::tree_of(const btree::TreeRecord& change) {
  const std::lock_guard lock(mutex_);
  const auto known = trees_.find(change.tree);
  if (known != trees_.end()) {
    return open_known(change.tree, known->second);
  }
  if (change.kind != btree::TreeRecordKind::format_root) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("the log names tree {}, which the catalog does not have", raw(change.tree)));
  }
  Known& made = trees_[change.tree];
  made.root = change.page;
  return open_known(change.tree, made);
}

void TreeCatalog::creation_undone(TreeId tree) {
  const std::lock_guard lock(mutex_);
  const auto known = trees_.find(tree);
  if (known != trees_.end()) {
    by_name_.erase(known->second.name);
    trees_.erase(known);
  }
}

}  // namespace palimpsest::txn
