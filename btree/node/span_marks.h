// Marks of records that have a span of their leaf in place of a version (versioning/spans.h).
//
// Invariants: (1) a marked slot has kHasEntry, too, so that readers without a latch take one; it
//                 has one mark at most;
//             (2) a mark whose span the leaf does not have is stale, and means nothing.
// Latching: the leaf is latched, shared for what only looks, else exclusively.
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

/// The span that a record with such flags has been folded into, if that is remembered still.
/// `table` hangs off the leaf, and may be null.
[[nodiscard]] inline std::optional<versioning::SpanKind> span_of(
    const versioning::MappingTable* table, std::uint16_t flags) noexcept {
  if ((flags & kMarks) == 0 || table == nullptr || table->spans() == nullptr) [[likely]] {
    return std::nullopt;
  }
  const auto kind =
      (flags & kMadeInSpan) != 0 ? versioning::SpanKind::made : versioning::SpanKind::removed;
  return table->spans()->has(kind) ? std::optional(kind) : std::nullopt;
}

/// The same, if it hides from the snapshot what has become of the record.
[[nodiscard]] inline std::optional<versioning::SpanKind> span_hiding(
    const versioning::MappingTable* table, std::uint16_t flags, Gsn snapshot) noexcept {
  const auto kind = span_of(table, flags);
  return kind && table->spans()->of(*kind).hides_from(snapshot) ? kind : std::nullopt;
}

/// Whether a record from this slot on has a mark that means something.
[[nodiscard]] bool any_marked(const LeafView& leaf, const versioning::MappingTable* table,
                              SlotIndex from = 0) noexcept;

/// Takes the marks of one kind away.
void remove_marks(LeafNode leaf, versioning::SpanKind kind) noexcept;
/// The page has come back: marks what its spans remember, and has them forget it.
void restore_marks(LeafNode leaf, versioning::Spans& spans) noexcept;
/// Before leaves are merged: takes the marks away that are stale and would mean something
/// afterwards.
void remove_stale_marks(LeafNode leaf, const versioning::MappingTable* table,
                        const versioning::MappingTable* other) noexcept;

}  // namespace palimpsest::btree
