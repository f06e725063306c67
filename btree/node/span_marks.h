// Marks of records that have a span of their leaf instead of a version (versioning/spans.h).
//
// Invariants: (1) a marked slot also has kHasEntry, so that readers without a latch take one; it
//                 has at most one mark;
//             (2) a mark without its span in the leaf is stale, and means nothing.
// Latching: the leaf is latched: shared for reading, exclusively for changes.
// Failure: none. Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "btree/node/leaf_node.h"
#include "versioning/mapping_table.h"
#include "versioning/spans.h"

namespace palimpsest::btree {

[[nodiscard]] constexpr std::uint16_t mark_of(versioning::SpanKind kind) noexcept {
  return kind == versioning::SpanKind::made ? kMadeInSpan : kRemovedInSpan;
}

/// The span that a record with these flags was folded into, if the table still has it. `table` is
/// attached to the leaf, and may be null.
[[nodiscard]] inline std::optional<versioning::SpanKind> span_of(
    const versioning::MappingTable* table, std::uint16_t flags) noexcept {
  if ((flags & kMarks) == 0 || table == nullptr || table->spans() == nullptr) [[likely]] {
    return std::nullopt;
  }
  const auto kind =
      (flags & kMadeInSpan) != 0 ? versioning::SpanKind::made : versioning::SpanKind::removed;
  return table->spans()->has(kind) ? std::optional(kind) : std::nullopt;
}

/// span_of(), if it hides the record's current state from the snapshot.
[[nodiscard]] inline std::optional<versioning::SpanKind> span_hiding(
    const versioning::MappingTable* table, std::uint16_t flags, Gsn snapshot) noexcept {
  const auto kind = span_of(table, flags);
  return kind && table->spans()->of(*kind).hides_from(snapshot) ? kind : std::nullopt;
}

/// Whether a record from this slot on has a mark that means something.
[[nodiscard]] bool any_marked(const LeafView& leaf, const versioning::MappingTable* table,
                              SlotIndex from = 0) noexcept;

/// Removes the marks of one kind.
void remove_marks(LeafNode leaf, versioning::SpanKind kind) noexcept;
/// After the page was loaded again: restores the marks that its spans remember, and clears those.
void restore_marks(LeafNode leaf, versioning::Spans& spans) noexcept;
/// Before leaves are merged: removes stale marks that the other leaf's spans would give a meaning.
void remove_stale_marks(LeafNode leaf, const versioning::MappingTable* table,
                        const versioning::MappingTable* other) noexcept;

}  // namespace palimpsest::btree
