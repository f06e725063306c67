#include "btree/audit.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "btree/leaf_entries.h"
#include "btree/node/node_print.h"
#include "btree/node/node_validate.h"
#include "btree/node/virtual_version.h"
#include "buffer/swip.h"

namespace palimpsest::btree {

using buffer::Frame;
using buffer::FrameState;
using buffer::SharedPage;
using buffer::Swip;

bool PageSet::add(PageId page) {
  if (raw(page) >= bits_.size()) {
    bits_.resize(raw(page) + 1);
  }
  if (bits_[raw(page)]) {
    return false;
  }
  bits_[raw(page)] = true;
  ++count_;
  return true;
}

void Findings::add(std::string what) {
  ++count_;
  if (kept_.size() < kKeptMax) {
    kept_.push_back(std::move(what));
  }
}

std::string Findings::text() const {
  std::string lines;
  for (const std::string& finding : kept_) {
    lines += finding + "\n";
  }
  if (count_ > kept_.size()) {
    lines += fmt::format("... and {} more\n", count_ - kept_.size());
  }
  return lines;
}

std::uint64_t TreeAudit::node_count() const noexcept {
  std::uint64_t nodes = 0;
  for (const LevelStatistics& level : levels) {
    nodes += level.nodes;
  }
  return nodes;
}

std::string TreeAudit::text() const {
  std::string lines;
  for (std::size_t level = levels.size(); level-- > 0;) {
    const LevelStatistics& of = levels[level];
    const std::string entries = level == 0
                                    ? fmt::format("{} records, {} ghosts", of.entries, of.ghosts)
                                    : fmt::format("{} children", of.entries);
    lines += fmt::format("level {}: {} nodes, {}, {:.1f} % full\n", level, of.nodes, entries,
                         100 * of.fill());
  }
  lines += fmt::format("large values: {} of {} bytes in {} pages\n", large_values,
                       large_value_bytes, extent_pages);
  return lines + (sound() ? std::string("sound\n") : findings.text());
}

namespace {

/// What the parent says about a node; for the root, what holds in every tree.
struct Expected {
  PageId page;
  PageId parent = kNoPage;
  KeyBuffer lower;
  KeyBuffer upper;
  bool upper_is_infinite = true;
};

std::string shown(ByteView fence, bool infinite) {
  return infinite ? std::string("infinity") : fmt::format("\"{}\"", printable(fence));
}

class TreeAuditor {
 public:
  TreeAuditor(const BTree& tree, PageSet& reached, const AuditOptions& options)
      : tree_(tree),
        pool_(tree.descent().pool()),
        reached_(reached),
        options_(options),
        page_size_(pool_.page_size_bytes()) {}

  [[nodiscard]] TreeAudit run() {
    const std::uint32_t root_level = level_of_root();
    if (!audit_.sound()) {
      audit_.levels.resize(1);
      return std::move(audit_);
    }
    if (root_level > kLevelMax) {
      audit_.levels.resize(1);
      find(tree_.root_page(), "its level is {}, beyond {}", root_level, kLevelMax);
      return std::move(audit_);
    }
    audit_.levels.resize(root_level + 1);
    images_ = AlignedMemory(std::size_t{root_level + 1} * page_size_, page_size_);
    Expected root;
    root.page = tree_.root_page();
    visit(root_level, root);
    return std::move(audit_);
  }

 private:
  template <class... Args>
  void find(PageId page, fmt::format_string<Args...> what, Args&&... args) {
    audit_.findings.add(
        fmt::format("page {}: {}", raw(page), fmt::format(what, std::forward<Args>(args)...)));
  }

  [[nodiscard]] std::uint32_t level_of_root() {
    try {
      return tree_.descent().root_level();
    } catch (const Error& error) {
      static_cast<void>(claim(tree_.root_page(), "node"));
      find(tree_.root_page(), "cannot be read: {}", error.what());
      return 0;
    }
  }

  [[nodiscard]] std::byte* image(std::uint32_t level) const {
    return images_.data() + std::size_t{level} * page_size_;
  }

  void visit(std::uint32_t level, const Expected& expected);
  [[nodiscard]] bool copy(std::uint32_t level, const Expected& expected);
  void judge_frame(const Frame& frame, const Expected& expected);
  void judge_entries(const SharedPage& page, PageId id);
  void unswizzle(const Frame& frame, std::byte* copied, PageId page);
  [[nodiscard]] bool judge_copy(std::uint32_t level, const Expected& expected);
  [[nodiscard]] bool claim(PageId page, std::string_view what);
  void visit_children(std::uint32_t level, PageId page);
  void visit_large_values(PageId page);
  void visit_large_value(PageId page, ByteView descriptor);

  const BTree& tree_;
  buffer::BufferPool& pool_;
  PageSet& reached_;
  const AuditOptions& options_;
  const std::uint32_t page_size_;
  AlignedMemory images_;  ///< of the nodes on the path, by level
  TreeAudit audit_;
};

void TreeAuditor::visit(std::uint32_t level, const Expected& expected) {
  if (!claim(expected.page, "node") || !copy(level, expected) || !judge_copy(level, expected)) {
    return;
  }
  const LeafView leaf(image(level), page_size_);
  const InnerView inner(image(level), page_size_);
  LevelStatistics& statistics = audit_.levels[level];
  ++statistics.nodes;
  statistics.entries += level == 0 ? leaf.count() - leaf.ghost_count() : inner.child_count();
  statistics.ghosts += level == 0 ? leaf.ghost_count() : 0;
  statistics.capacity_bytes += node_capacity_bytes(page_size_);
  statistics.used_bytes +=
      node_capacity_bytes(page_size_) - (level == 0 ? leaf.free_bytes() : inner.free_bytes());
  if (level == 0) {
    visit_large_values(expected.page);
  } else {
    visit_children(level, expected.page);
  }
}

/// Marks the page as used by the tree; false if it cannot be.
bool TreeAuditor::claim(PageId page, std::string_view what) {
  if (!pool_.file().contains(page)) {
    find(page, "used by a {}, but beyond the end of the file", what);
    return false;
  }
  if (pool_.space().is_map_page(page)) {
    find(page, "used by a {}, but belongs to the space map", what);
    return false;
  }
  if (!pool_.space().is_logged(page)) {
    find(page, "used by a {}, but free in the space map", what);
  }
  if (!reached_.add(page)) {
    find(page, "used by a {}, but already reached through another page", what);
    return false;
  }
  return true;
}

/// Copies the node that a descent to `expected.lower` finds; false if none can be read.
bool TreeAuditor::copy(std::uint32_t level, const Expected& expected) {
  try {
    const SharedPage page = tree_.descent().node<SharedPage>(Target{expected.lower.view()}, level);
    judge_frame(page.frame(), expected);
    std::memcpy(image(level), page.page(), page_size_);
    judge_entries(page, expected.page);
    unswizzle(page.frame(), image(level), expected.page);
    const buffer::PageKind* kind = pool_.kinds().of(buffer::PageType::tree_leaf);
    kind->clean_image({image(level), page_size_});
    return true;
  } catch (const Error& error) {
    find(expected.page, "cannot be read: {}", error.what());
    return false;
  }
}

// The caller holds the frame's latch, so neither its swip nor its parent changes.
void TreeAuditor::judge_frame(const Frame& frame, const Expected& expected) {
  const PageId page = frame.page_id.load(std::memory_order_relaxed);
  const FrameIndex parent = frame.parent.load(std::memory_order_relaxed);
  if (page != expected.page) {
    find(expected.page, "its frame says that it holds page {}", raw(page));
  }
  if (frame.state.load(std::memory_order_acquire) != FrameState::resident) {
    find(expected.page, "its frame is not resident");
  }
  const buffer::PageType type =
      buffer::header_of(pool_.frames().page_bytes(pool_.index_of(frame))).type;
  if (frame.type.load(std::memory_order_relaxed) != type) {
    find(expected.page, "its frame has another type than {}", name_of(type));
  }
  if (expected.parent == kNoPage) {
    const buffer::RootPlace& place = tree_.descent().root().place();
    if (parent != place.frame || place.swip() != buffer::Swip::of_frame(pool_.index_of(frame))) {
      find(expected.page, "the root's frame is not the one in its place");
    }
    return;
  }
  const bool known = pool_.frames().contains(parent);
  const PageId above =
      known ? pool_.frames()[parent].page_id.load(std::memory_order_relaxed) : kNoPage;
  if (above != expected.parent) {
    find(expected.page, "its frame's parent holds page {}, not {}", raw(above),
         raw(expected.parent));
  }
}

// Checks that a record with an entry in the page's table is marked; that a span mark is alone
// beside kHasEntry; that the table's entries lie within the fences and reserve no more than is
// free.
void TreeAuditor::judge_entries(const SharedPage& page, PageId id) {
  const LeafView leaf(page.page(), page_size_);
  const versioning::MappingTable* table = table_of(page.frame());
  const Gsn youngest = page.frame().youngest.load(std::memory_order_relaxed);
  if (youngest != (table == nullptr ? Gsn{0} : table->youngest())) {
    find(id, "its frame says that versions are of {}, its mapping table does not", raw(youngest));
  }
  if (!leaf.is_leaf()) {
    if (table != nullptr) {
      find(id, "an inner node has a mapping table");
    }
    return;
  }
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    const std::uint16_t marks = leaf.flags(slot) & kMarks;
    if (marks == kMarks || (marks != 0 && (leaf.flags(slot) & kHasEntry) == 0)) {
      find(id, "slot {} has the marks {:#x}: at most one is allowed, and only with kHasEntry", slot,
           marks);
    }
  }
  if (table == nullptr) {
    return;
  }
  std::uint64_t reserved_bytes = 0;
  table->visit([&](const versioning::Entry& entry) {
    reserved_bytes += entry.reserved_bytes();
    const SearchResult at = leaf.find(entry.key());
    if (at.found && (leaf.flags(at.slot) & kHasEntry) == 0) {
      find(id, "slot {} is not marked, but its mapping table has an entry for it", at.slot);
    }
    if (entry.tree() != tree_.id() || !leaf.covers(entry.key())) {
      find(id, "an entry for \"{}\" of tree {} is in its mapping table", printable(entry.key()),
           raw(entry.tree()));
    }
  });
  if (reserved_bytes != table->reserved_bytes() || reserved_bytes > leaf.free_bytes()) {
    find(id, "entries reserve {} bytes, their table says {}, and {} are free", reserved_bytes,
         table->reserved_bytes(), leaf.free_bytes());
  }
}

// Replaces the copy's swips by page ids. The caller holds the frame's latch, so resident children
// stay where they are.
void TreeAuditor::unswizzle(const Frame& frame, std::byte* copied, PageId page) {
  InnerNode node(copied, page_size_);
  if (node.is_leaf()) {
    return;
  }
  for (SlotIndex child = 0; child < node.child_count(); ++child) {
    const Swip swip = Swip::of_word(node.swip_at(child));
    if (!swip.swizzled()) {
      continue;
    }
    PageId below = kNoPage;
    if (!pool_.frames().contains(swip.frame())) {
      find(page, "child {} is in frame {}, which does not exist", child, raw(swip.frame()));
    } else {
      const Frame& resident = pool_.frames()[swip.frame()];
      below = resident.page_id.load(std::memory_order_relaxed);
      const FrameIndex parent = resident.parent.load(std::memory_order_relaxed);
      if (resident.state.load(std::memory_order_acquire) != FrameState::resident ||
          parent != pool_.index_of(frame)) {
        find(page, "child {} is in frame {}, whose state or parent say otherwise", child,
             raw(swip.frame()));
      }
    }
    node.set_swip(child, raw(below));
  }
}

/// Whether the copy is sound enough to descend further.
bool TreeAuditor::judge_copy(std::uint32_t level, const Expected& expected) {
  const InnerView node(image(level), page_size_);
  const auto plausible = [](const void* file, std::uint64_t word) noexcept {
    return static_cast<const buffer::PageFile*>(file)->contains(PageId{word});
  };
  if (const auto fault =
          audit_node(node.bytes(), {.plausible = plausible, .context = &pool_.file()})) {
    find(expected.page, "{}", *fault);
    return false;
  }
  if (node.page_id() != expected.page) {
    find(expected.page, "page {} is in its place", raw(node.page_id()));
    return false;
  }
  if (node.level() != level) {
    find(expected.page, "its level is {}, not {}", node.level(), level);
    return false;
  }
  if (node.tree_id() != tree_.id()) {
    find(expected.page, "it belongs to tree {}", raw(node.tree_id()));
    return false;
  }
  if (node.lower_fence() != expected.lower.view()) {
    find(expected.page, "its lower fence is {}, not {}", shown(node.lower_fence(), false),
         shown(expected.lower.view(), false));
    return false;
  }
  if (node.upper_is_infinite() != expected.upper_is_infinite ||
      node.upper_fence() != expected.upper.view()) {
    find(expected.page, "its upper fence is {}, not {}",
         shown(node.upper_fence(), node.upper_is_infinite()),
         shown(expected.upper.view(), expected.upper_is_infinite));
    return false;
  }
  return true;
}

void TreeAuditor::visit_children(std::uint32_t level, PageId page) {
  const InnerView node(image(level), page_size_);
  Expected below;
  below.parent = page;
  for (SlotIndex child = 0; child < node.child_count(); ++child) {
    below.page = PageId{node.swip_at(child)};
    node.copy_child_lower(child, below.lower);
    below.upper_is_infinite = !node.copy_child_upper(child, below.upper);
    if (below.upper_is_infinite) {
      below.upper.assign(ByteView());
    }
    visit(level - 1, below);
  }
}

void TreeAuditor::visit_large_values(PageId page) {
  const LeafView leaf(image(0), page_size_);
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    for_each_large({leaf.value(slot), leaf.flags(slot)},
                   [&](ByteView descriptor) { visit_large_value(page, descriptor); });
  }
}

void TreeAuditor::visit_large_value(PageId page, ByteView descriptor) {
  try {
    const LargeValueDescriptor value = tree_.large_values().decode(descriptor);
    bool whole = true;
    for (const buffer::PageRun& run : value.runs()) {
      for (std::uint32_t i = 0; i < run.pages && whole; ++i) {
        whole = claim(PageId{raw(run.first) + i}, "large value");
      }
    }
    if (whole && options_.read_large_values) {
      tree_.large_values().verify(value);
    }
    ++audit_.large_values;
    audit_.large_value_bytes += value.size_bytes();
    audit_.extent_pages += value.block_count();
  } catch (const Error& error) {
    find(page, "a large value: {}", error.what());
  }
}

}  // namespace

TreeAudit audit(const BTree& tree, PageSet& reached, const AuditOptions& options) {
  return TreeAuditor(tree, reached, options).run();
}

TreeAudit audit(const BTree& tree) {
  PageSet reached;
  return audit(tree, reached);
}

Findings audit_space(const buffer::PageFile& file, const buffer::SpaceMap& space,
                     const PageSet& reached) {
  enum class Kind : std::uint8_t { fine, lost, reached_free };
  Findings findings;
  const auto judge = [&](std::uint64_t page) {
    const bool used = space.is_logged(PageId{page});
    if (space.is_map_page(PageId{page})) {
      return used ? Kind::fine : Kind::reached_free;
    }
    if (used == reached.contains(PageId{page})) {
      return Kind::fine;
    }
    return used ? Kind::lost : Kind::reached_free;
  };
  const std::uint64_t end = file.page_count();
  for (std::uint64_t first = raw(file.first_page()); first < end;) {
    const Kind kind = judge(first);
    std::uint64_t last = first;
    while (last + 1 < end && judge(last + 1) == kind) {
      ++last;
    }
    if (kind != Kind::fine) {
      findings.add(fmt::format(
          "pages {} to {}: {}", first, last,
          kind == Kind::lost ? "in use, but no tree reaches them" : "free, but a tree uses them"));
    }
    first = last + 1;
  }
  return findings;
}

}  // namespace palimpsest::btree
