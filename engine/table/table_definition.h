// A table's definition at one time: its format, the trees of its rows and its indexes' entries, and
// which transactions see it.
//
// A definition is immutable, except for the lifetime state of its trees (TreesLife, IndexLife),
// which all definitions with the same trees share.
// Thread-safety: all functions, from any thread; memory: table_state.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "engine/format/table_format.h"
#include "versioning/chain.h"
#include "versioning/commit_status.h"

namespace palimpsest::engine {

/// The lifetime state of a definition's trees.
struct TreesLife {
  /// Readers without a snapshot, in several calls or in a long one: the trees wait for them.
  std::atomic<std::uint32_t> readers{0};
  /// The trees are being returned, to be emptied and reused. Set before that: if this is false,
  /// everything read before from the trees was the table's.
  std::atomic<bool> are_gone{false};
};

/// A reader without a snapshot, for which replaced trees wait; or none.
class TreesReader {
 public:
  TreesReader() = default;
  explicit TreesReader(std::shared_ptr<TreesLife> life) noexcept : life_(std::move(life)) {
    life_->readers.fetch_add(1);
  }
  TreesReader(TreesReader&&) noexcept = default;
  TreesReader& operator=(TreesReader&& other) noexcept {
    life_.swap(other.life_);
    return *this;
  }
  TreesReader(const TreesReader&) = delete;
  TreesReader& operator=(const TreesReader&) = delete;
  ~TreesReader() {
    if (life_ != nullptr) {
      life_->readers.fetch_sub(1);
    }
  }

 private:
  std::shared_ptr<TreesLife> life_;
};

/// The lifetime state of an index's tree.
struct IndexLife {
  /// The clock when the index became visible. Older snapshots see rows that have no entry in it.
  std::atomic<Gsn> since{};
  std::atomic<bool> is_gone{false};
};

struct TableDefinition;

/// The link between the definitions that a table has had.
class DefinitionPlace {
 public:
  DefinitionPlace() = default;
  /// A copy is not linked.
  DefinitionPlace(const DefinitionPlace& /*other*/) noexcept {}
  DefinitionPlace& operator=(const DefinitionPlace&) = delete;
  ~DefinitionPlace() = default;

 private:
  friend class TableState;
  friend struct TableDefinition;
  /// The definition that this one replaced, among those that a snapshot may still see.
  mutable std::atomic<const TableDefinition*> older_{nullptr};
};

struct TableDefinition : std::enable_shared_from_this<TableDefinition> {
  std::shared_ptr<const TableFormat> format;
  btree::BTree* rows = nullptr;
  std::vector<btree::BTree*> indexes;  ///< in the order of the format's
  std::vector<std::shared_ptr<IndexLife>> index_lives;
  std::shared_ptr<TreesLife> life = std::make_shared<TreesLife>();
  /// If not null: its rows are those of this commit status's transaction, and of later ones.
  std::shared_ptr<versioning::CommitStatus> commit_status;
  /// If not kNoEpoch: this bulk, which changes the rows in place, has made the indexes from number
  /// made_from on. Until it commits no other transaction finds them, so it leaves no virtual
  /// versions there.
  BulkEpoch made_by = kNoEpoch;
  std::size_t made_from = 0;
  DefinitionPlace place;

  /// Whether an index is a tree of this bulk's own.
  [[nodiscard]] bool is_made_by(BulkEpoch bulk, std::size_t number) const noexcept {
    return bulk != kNoEpoch && bulk == made_by && number >= made_from;
  }
  /// Indexes added from now on are this bulk's.
  void begin_indexes_of(BulkEpoch bulk) noexcept {
    if (made_by != bulk) {
      made_by = bulk;
      made_from = indexes.size();
    }
  }
  void add_index(btree::BTree& tree) {
    indexes.push_back(&tree);
    index_lives.push_back(std::make_shared<IndexLife>());
  }
  void remove_index(std::size_t number) {
    const auto at = static_cast<std::ptrdiff_t>(number);
    indexes.erase(indexes.begin() + at);
    index_lives.erase(index_lives.begin() + at);
  }

  /// Whether that index is one of this definition's.
  [[nodiscard]] bool has(const IndexLife& index) const noexcept {
    return std::ranges::find(index_lives, &index, &std::shared_ptr<IndexLife>::get) !=
           index_lives.end();
  }
  /// Whether a snapshot sees it; null: the newest state. Waits while that is being decided, for a
  /// few instructions.
  [[nodiscard]] bool is_seen_by(const versioning::ReadView* read_view) const noexcept {
    if (commit_status == nullptr) [[likely]] {
      return true;
    }
    constexpr Gsn kNewest{std::numeric_limits<std::uint64_t>::max()};
    const Gsn snapshot = read_view == nullptr ? kNewest : read_view->snapshot;
    for (;;) {
      const versioning::Visibility visibility = commit_status->at(snapshot);
      if (visibility != versioning::Visibility::undecided) [[likely]] {
        return visibility == versioning::Visibility::visible;
      }
      PALIMPSEST_SYNC_POINT("engine.definition.undecided");
      std::this_thread::yield();
    }
  }
};

/// Keeps a definition in memory, but not its trees.
using DefinitionPtr = std::shared_ptr<const TableDefinition>;

}  // namespace palimpsest::engine
