// Checks whole trees: every structural invariant, node by node, then the space map against the
// pages that the trees reach. For tests and for `palimpsest check`.
//
// Why through the buffer pool and not the file: this checks the tree as its users see it, including
// changes not yet written, and that frames and swips agree with the pages.
// Memory: the image of one node per level, a bit per page of the file, and a bounded number of
// findings; trees may be far larger than memory. Each node is found by a descent, copied under its
// shared latch and checked as a copy.
//
// Checked of each node:
// - its bytes (audit_node), with swips replaced by page ids; page id, tree id, type and level;
// - its fences equal the separators around its swip in the parent; hence, by induction from the
//   root, each level covers all keys without gap or overlap;
// - its page id is the one the parent's swip stands for, in use, no map page, reached once;
// - its frame agrees (page id, type, state, parent; for the root, its root place instead of a
//   parent), and so do those of resident children.
// Checked of each large value: its descriptor; its pages are in use, no map pages, reached once; on
// demand, that each block belongs to the value.
//
// Latching: called with no latch held; at most one shared latch at a time, never during I/O.
// Failure: a fault, even an unreadable page, is a finding, and the walk continues beside it.
// Thread-safety: the tree must not be changed during the call; reads and eviction are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "btree/btree.h"
#include "buffer/page_file.h"
#include "buffer/space_map.h"

namespace palimpsest::btree {

/// A set of pages of one file: a bit each.
class PageSet {
 public:
  /// False if the page is already in the set.
  bool add(PageId page);
  [[nodiscard]] bool contains(PageId page) const noexcept {
    return raw(page) < bits_.size() && bits_[raw(page)];
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::vector<bool> bits_;
  std::uint64_t count_ = 0;
};

/// What is wrong, as text. All findings are counted; the first ones are kept.
class Findings {
 public:
  static constexpr std::size_t kKeptMax = 64;

  void add(std::string what);
  [[nodiscard]] bool none() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<const std::string> kept() const noexcept { return kept_; }
  /// One line per finding.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> kept_;
  std::uint64_t count_ = 0;
};

struct LevelStatistics {
  std::uint64_t nodes = 0;
  std::uint64_t entries = 0;         ///< records of leaves, children of inner nodes
  std::uint64_t ghosts = 0;          ///< of leaves
  std::uint64_t capacity_bytes = 0;  ///< for slots, records and fences
  std::uint64_t used_bytes = 0;

  /// Share of the capacity that is in use, 0 to 1.
  [[nodiscard]] double fill() const noexcept {
    return capacity_bytes == 0
               ? 0
               : static_cast<double>(used_bytes) / static_cast<double>(capacity_bytes);
  }
};

struct TreeAudit {
  Findings findings;
  std::vector<LevelStatistics> levels;  ///< by level, leaves first; of the sound nodes only
  std::uint64_t large_values = 0;
  std::uint64_t large_value_bytes = 0;
  std::uint64_t extent_pages = 0;

  [[nodiscard]] bool sound() const noexcept { return findings.none(); }
  [[nodiscard]] const LevelStatistics& leaves() const noexcept { return levels.front(); }
  [[nodiscard]] std::uint64_t node_count() const noexcept;
  /// The numbers, a line per level, and the findings.
  [[nodiscard]] std::string text() const;
};

struct AuditOptions {
  /// Read the blocks of large values too, and not only their descriptors.
  bool read_large_values = true;
};

/// Checks a tree and adds the pages of its nodes and large values to `reached`, which must not
/// contain them yet: use one set for all trees of a file. Blocks on I/O.
[[nodiscard]] TreeAudit audit(const BTree& tree, PageSet& reached,
                              const AuditOptions& options = {});
/// Checks a tree alone.
[[nodiscard]] TreeAudit audit(const BTree& tree);

/// Compares the space map with the pages that all trees of the file reach. A page in use that no
/// tree reaches is lost; one that is reached and not in use will be overwritten. Pages reserved by
/// running operations count as lost, so there must be none.
[[nodiscard]] Findings audit_space(const buffer::PageFile& file, const buffer::SpaceMap& space,
                                   const PageSet& reached);

}  // namespace palimpsest::btree
