#include "btree/node/span_marks.h"

namespace palimpsest::btree {

using versioning::MappingTable;
using versioning::SpanKind;

namespace {

bool has(const MappingTable* table, SpanKind kind) noexcept {
  return table != nullptr && table->spans() != nullptr && table->spans()->has(kind);
}

}  // namespace

bool any_marked(const LeafView& leaf, const MappingTable* table, SlotIndex from) noexcept {
  if (table == nullptr || table->spans() == nullptr) {
    return false;
  }
  for (SlotIndex slot = from; slot < leaf.count(); ++slot) {
    if (span_of(table, leaf.flags(slot))) {
      return true;
    }
  }
  return false;
}

void remove_marks(LeafNode leaf, SpanKind kind) noexcept {
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    const std::uint16_t flags = leaf.flags(slot);
    if ((flags & mark_of(kind)) != 0) {
      leaf.set_flags(slot, static_cast<std::uint16_t>(flags & ~mark_of(kind)));
    }
  }
}

void restore_marks(LeafNode leaf, versioning::Spans& spans) noexcept {
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    for (const SpanKind kind : {SpanKind::made, SpanKind::removed}) {
      if (spans.is_marked(slot, kind)) {
        leaf.set_flags(slot,
                       static_cast<std::uint16_t>(leaf.flags(slot) | mark_of(kind) | kHasEntry));
      }
    }
  }
  spans.forget_marks();
}

void remove_stale_marks(LeafNode leaf, const MappingTable* table,
                        const MappingTable* other) noexcept {
  for (const SpanKind kind : {SpanKind::made, SpanKind::removed}) {
    if (has(other, kind) && !has(table, kind)) {
      remove_marks(leaf, kind);
    }
  }
}

}  // namespace palimpsest::btree
