#include "btree/leaf_folder.h"

#include <new>
#include <optional>

#include "base/sync_point.h"
#include "btree/node/span_marks.h"

namespace palimpsest::btree {

using versioning::Entry;
using versioning::MappingTable;
using versioning::Pruner;
using versioning::SpanKind;
using versioning::Spans;

namespace {

LeafNode leaf_of(const buffer::Hanging& hanging) noexcept {
  return {hanging.page.data(), static_cast<std::uint32_t>(hanging.page.size())};
}

MappingTable& table_of(const buffer::Hanging& hanging) noexcept {
  return static_cast<MappingTable&>(*hanging.what);
}

/// Folds the records of a leaf; its table has spans, which may be empty.
class Folding {
 public:
  Folding(LeafNode leaf, MappingTable& table, Pruner& pruner) noexcept
      : leaf_(leaf), table_(table), spans_(*table.spans()), pruner_(pruner) {}

  [[nodiscard]] bool run() noexcept {
    table_.visit_chains([&](Entry& entry) { fold(entry); });
    return has_marked_;
  }

 private:
  // A record with a virtual version is skipped: its bulk's change lies between its versions and
  // its newest state.
  void fold(Entry& entry) noexcept {
    if (!entry.has_versions()) {
      return;
    }
    const SearchResult at = leaf_.find(entry.key());
    if (!at.found || (leaf_.flags(at.slot) & kVirtual) != 0) {
      return;
    }
    const auto mark = span_of(&table_, leaf_.flags(at.slot));
    const bool had_made = spans_.has(SpanKind::made);
    const bool had_removed = spans_.has(SpanKind::removed);
    const auto gets = pruner_.fold(entry, mark, spans_);
    if (!gets) {
      return;
    }
    if (*gets == SpanKind::made ? !had_made : !had_removed) {
      remove_marks(leaf_, *gets);  // any existing ones are stale
      note_ghost_hint(entry, *gets);
    }
    PALIMPSEST_SYNC_POINT("btree.fold.folded");
    const auto others = static_cast<std::uint16_t>(leaf_.flags(at.slot) & ~kMarks);
    leaf_.set_flags(at.slot, static_cast<std::uint16_t>(others | mark_of(*gets) | kHasEntry));
    has_marked_ = true;
  }

  void note_ghost_hint(const Entry& entry, SpanKind kind) noexcept {
    if (kind == SpanKind::removed) {
      table_.memory().folded_ghost_hints().note(entry.tree(), entry.key(), spans_.of(kind).to);
    }
  }

  LeafNode leaf_;
  MappingTable& table_;
  Spans& spans_;
  Pruner& pruner_;
  bool has_marked_ = false;
};

bool are_all_made(const LeafView& leaf, const MappingTable& table) noexcept {
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    if (span_of(&table, leaf.flags(slot)) != SpanKind::made) {
      return false;
    }
  }
  return table.spans()->has(SpanKind::made);
}

bool any_versions(const MappingTable& table) noexcept {
  bool any = false;
  table.visit([&](const Entry& entry) { any = any || entry.has_versions(); });
  return any;
}

}  // namespace

bool fold_leaf(LeafNode leaf, MappingTable& table, Pruner& pruner) noexcept {
  if (!any_versions(table)) {
    return false;
  }
  table.forget_spans(pruner.seen_by_all());
  try {
    static_cast<void>(table.make_spans());
  } catch (const std::bad_alloc&) {
    return false;
  }
  const bool has_marked = Folding(leaf, table, pruner).run();
  table.forget_spans(Gsn{0});  // drops the spans if nothing was folded
  return has_marked;
}

void LeafFolder::fold(std::span<buffer::Hanging> hanging) noexcept {
  Pruner pruner(snapshots_, memory_);
  for (buffer::Hanging& one : hanging) {
    one.page_changed = fold_leaf(leaf_of(one), table_of(one), pruner) || one.page_changed;
  }
}

bool LeafFolder::remember_marks(const buffer::Hanging& hanging) noexcept {
  const LeafNode leaf = leaf_of(hanging);
  const MappingTable& table = table_of(hanging);
  Spans* const spans = table.spans();
  if (spans == nullptr) {
    return true;
  }
  if (are_all_made(leaf, table)) {
    spans->remember_all_made();
    return true;
  }
  try {
    spans->remember(leaf.count());
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    if (const auto kind = span_of(&table, leaf.flags(slot))) {
      spans->mark(slot, *kind);
    }
  }
  return true;
}

void LeafFolder::with_pruner(FunctionRef<void(Pruner&)> work) noexcept {
  Pruner pruner(snapshots_, memory_);
  work(pruner);
}

}  // namespace palimpsest::btree
