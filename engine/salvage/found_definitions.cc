#include "engine/salvage/found_definitions.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "bulk/bulk_ledger.h"
#include "engine/catalog/stored_definitions.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {
namespace {

/// The leaves of a small tree.
class LeavesInMemory final : public LeafSource {
 public:
  LeavesInMemory(const PageDirectory& pages, TreeId tree, bool with_doubtful) {
    const std::uint32_t page_size = pages.file().page_size_bytes();
    const AlignedMemory memory(page_size, page_size);
    pages.visit_leaves(tree, [&](PageId page) {
      if (pages.counts(page, with_doubtful) && pages.read(page, memory.bytes())) {
        leaves_.push_back(LeafRef::of(btree::LeafView(memory.data(), page_size)));
        leaves_.back().gsn = std::max(leaves_.back().gsn, pages.named_at(page));
      }
    });
    std::ranges::sort(leaves_, {}, &LeafRef::lower);
  }

  std::optional<LeafRef> next() override {
    return at_ == leaves_.size() ? std::nullopt : std::optional(leaves_[at_++]);
  }

 private:
  std::vector<LeafRef> leaves_;
  std::size_t at_ = 0;
};

class Collected final : public RecordSink {
 public:
  void record(ByteView key, ByteView value) override {
    content.records.emplace_back(std::string(key), std::string(value));
  }
  void left_out(ByteView /*key*/, LeftOut /*why*/) override { content.is_whole = false; }
  void miss(const KeyPart& /*part*/) override { content.is_whole = false; }

  TreeContent content;
};

/// The definition that a record of a table holds; nothing if it is none.
std::optional<StoredTable> table_in(ByteView name, ByteView record) {
  try {
    StoredTable table = decode_table(record);
    return table.schema.name == name ? std::optional(std::move(table)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

constexpr TreeLook kDefinitions{
    .has_record = [](ByteView key, ByteView value) { return table_in(key, value).has_value(); },
    .is_one =
        [](const TreeContent& content) {
          return !content.records.empty() &&
                 std::ranges::all_of(content.records, [](const auto& record) {
                   return table_in(record.first, record.second).has_value();
                 });
        }};

/// Whether the ledger of bulks (bulk/bulk_ledger.h) may have such a record: it names trees, or the
/// next epoch.
bool is_of_bulk(ByteView key, ByteView value) {
  bulk::StoredBulks one;
  return !value.empty() && bulk::add_record(one, key, value);
}

/// Nothing if these are other records.
std::optional<BulkOutcomes> bulks_in(const TreeContent& content) {
  BulkOutcomes bulks{.stored = {.aborted = {}, .next = 0}, .is_whole = content.is_whole};
  bulk::StoredBulks& stored = bulks.stored;
  for (const auto& [key, value] : content.records) {
    if (value.empty() || !bulk::add_record(stored, key, value)) {
      return std::nullopt;
    }
  }
  const bool is_sane = stored.aborted.empty() || raw(stored.aborted.rbegin()->first) < stored.next;
  return stored.next != 0 && is_sane ? std::optional(std::move(bulks)) : std::nullopt;
}

constexpr TreeLook kBulks{.has_record = is_of_bulk, .is_one = [](const TreeContent& content) {
                            return content.is_whole && bulks_in(content).has_value();
                          }};

}  // namespace

const StoredTable* FoundDefinitions::table_of(TreeId tree) const {
  const auto found =
      std::ranges::find_if(tables, [&](const auto& table) { return table.second.tree == tree; });
  return found == tables.end() ? nullptr : &found->second;
}

bool FoundDefinitions::names(TreeId tree) const {
  return own_trees.contains(tree) || std::ranges::any_of(tables, [&](const auto& table) {
           return table.second.tree == tree ||
                  std::ranges::find(table.second.indexes, tree, &StoredIndex::tree) !=
                      table.second.indexes.end();
         });
}

TreeContent DefinitionFinder::read(TreeId tree, const BulkOutcomes& bulks) const {
  LeavesInMemory leaves(pages_, tree, with_doubtful_);
  Collected collected;
  const std::unique_ptr<ChangeSource> changes = changes_of_(tree);
  CommittedRecords records(pages_, bulks, *changes, known_up_to_, collected);
  sweep(leaves, records);
  return std::move(collected.content);
}

// What the catalog names is in use, with all that is named below: so its roots come before the
// trees.
DefinitionFinder::CatalogContent DefinitionFinder::read_catalog(PageId root) {
  if (root != kNoPage) {
    pages_.name_root(txn::kCatalogTree, root);
  }
  pages_.follow_names();
  const TreeContent content = read(txn::kCatalogTree, {});
  CatalogContent catalog{.trees = {}, .is_whole = content.is_whole};
  for (const auto& [name, value] : content.records) {
    if (const auto stored = txn::tree_in_catalog(value)) {
      catalog.trees.emplace(name, stored->id);
      pages_.name_root(stored->id, stored->root);
    } else {
      catalog.is_whole = false;
    }
  }
  pages_.follow_names();
  return catalog;
}

/// kNoTree: there is none, or it cannot be found.
TreeId DefinitionFinder::tree_named(const CatalogContent& catalog, std::string_view name,
                                    const std::set<TreeId>& others, const TreeLook& look) const {
  if (const auto found = catalog.trees.find(name); found != catalog.trees.end()) {
    return found->second;
  }
  TreeId only = kNoTree;
  if (catalog.is_whole) {
    return only;
  }
  for (const TreeId tree : pages_.trees()) {
    if (others.contains(tree) || !looks_so(tree, look)) {
      continue;
    }
    if (only != kNoTree) {
      return kNoTree;
    }
    only = tree;
  }
  return only;
}

// One leaf tells most trees that are others, however large they are.
bool DefinitionFinder::looks_so(TreeId tree, const TreeLook& look) const {
  const std::uint32_t page_size = pages_.file().page_size_bytes();
  const AlignedMemory memory(page_size, page_size);
  PageId first = kNoPage;
  pages_.visit_leaves(tree, [&](PageId page) { first = first == kNoPage ? page : first; });
  if (!pages_.read(first, memory.bytes())) {
    return false;
  }
  const btree::LeafView leaf(memory.data(), page_size);
  btree::KeyBuffer key;
  for (btree::SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    leaf.copy_key(slot, key);
    const bool is_small = (leaf.flags(slot) & (btree::kNamesLarge | btree::kShadowed)) == 0;
    if (is_small && !look.has_record(key.view(), leaf.value(slot))) {
      return false;
    }
  }
  return look.is_one(read(tree, {}));
}

void DefinitionFinder::read_tables(const CatalogContent& catalog, FoundDefinitions& found) const {
  const TreeId tree = tree_named(catalog, kTablesTree, found.own_trees, kDefinitions);
  if (tree == kNoTree) {
    found.is_whole = catalog.is_whole;
    return;
  }
  found.own_trees.insert(tree);
  const TreeContent content = read(tree, {});
  found.is_whole = content.is_whole;
  for (const auto& [name, record] : content.records) {
    if (auto table = table_in(name, record)) {
      found.tables.emplace(name, std::move(*table));
    } else {
      found.damaged.push_back(name);
      found.is_whole = false;
    }
  }
}

void DefinitionFinder::read_bulks(const CatalogContent& catalog, FoundDefinitions& found) const {
  std::set<TreeId> others = found.own_trees;
  for (const TreeId tree : pages_.trees()) {
    if (found.names(tree)) {
      others.insert(tree);
    }
  }
  const TreeId tree = tree_named(catalog, bulk::kBulksTree, others, kBulks);
  if (tree == kNoTree) {
    found.bulks.is_whole = catalog.is_whole;
    return;
  }
  found.own_trees.insert(tree);
  found.bulks = bulks_in(read(tree, {})).value_or(BulkOutcomes{.stored = {}, .is_whole = false});
}

FoundDefinitions DefinitionFinder::find(PageId root) {
  FoundDefinitions found;
  found.own_trees.insert(txn::kCatalogTree);
  const CatalogContent catalog = read_catalog(root);
  read_tables(catalog, found);
  read_bulks(catalog, found);
  return found;
}

}  // namespace palimpsest::engine
