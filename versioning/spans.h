// Spans: what many records of one leaf have in common in place of a version each.
//
// Without spans, beside an old reader every inserted or erased row keeps an entry and a version,
// about 150 bytes, that only say "not there before" or "there before". Where no snapshot lies
// between the dates of several such versions, no reader can tell them apart: each sees all of these
// changes or none. So they are *folded* into a span of dates [from, to]. A leaf has at most two
// spans; the mark in a record's slot (btree/node/node_layout.h) tells to which one it belongs:
//
//   span      mark                                                        a reader below `from`
//   made      kMadeInSpan: inserted at a date of the span                 sees no record
//   removed   kRemovedInSpan: erased at a date of the span, now a ghost   sees the ghost's value
//
// A mark stands for the *oldest* version of its record: the chain, if there is one, is younger. A
// reader that has taken back the whole chain, or has found none, applies the mark.
//
// Invariants: (1) no snapshot in use lies in [from, to), and none will: this is the condition for
//                 merging two versions, with the same argument (prune.h, I-8);
//             (2) when a version was folded, every snapshot below its date had been taken to read
//                 only. So no conflict depends on a folded version, and no serializable transaction
//                 that will be validated has to find one (txn/validation.h);
//             (3) a mark means something only while its leaf has the span of its kind. A span that
//                 every snapshot sees is forgotten, and its marks stay, *stale*. The next span of
//                 that kind in the leaf begins with removing them; merging two leaves removes those
//                 of the side that has no such span;
//             (4) the table stays attached to the leaf, and keeps its youngest start, as long as it
//                 has a span: so a reader that takes a stable leaf as it stands stays right (I-12);
//             (5) marks are never written (I-6). While the page is not in memory, the spans
//                 remember which slots are marked: a page does not change meanwhile.
// Latching: as for the mapping table that has it. Failure: remember() throws std::bad_alloc.
// Memory: a cache line a leaf; while the page is not in memory, a quarter of a byte a slot more. A
//         page that is not in memory and has all its records in its span "made" shares a block with
//         many others instead (span_blocks.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/ids.h"
#include "versioning/entry_memory.h"

namespace palimpsest::versioning {

enum class SpanKind : std::uint8_t { made = 0, removed = 1 };

struct Span {
  Gsn from{std::numeric_limits<std::uint64_t>::max()};
  Gsn to{0};

  [[nodiscard]] bool is_empty() const noexcept { return to < from; }
  /// Whether a reader of this snapshot does not see the changes in the span.
  [[nodiscard]] bool hides_from(Gsn snapshot) const noexcept { return snapshot < from; }
  [[nodiscard]] Span with(const Span& other) const noexcept {
    return {std::min(from, other.from), std::max(to, other.to)};
  }
};

class Spans {
 public:
  explicit Spans(EntryMemory& memory) noexcept : memory_(memory) {}
  Spans(const Spans&) = delete;
  Spans& operator=(const Spans&) = delete;
  ~Spans() { forget_marks(); }

  [[nodiscard]] const Span& of(SpanKind kind) const noexcept {
    return spans_[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] bool has(SpanKind kind) const noexcept { return !of(kind).is_empty(); }
  [[nodiscard]] bool any() const noexcept { return has(SpanKind::made) || has(SpanKind::removed); }
  /// The newest date of either; 0 if there is none.
  [[nodiscard]] Gsn newest() const noexcept { return std::max(spans_[0].to, spans_[1].to); }

  /// Extends the span by another folded version, or another leaf's span. No snapshot lies between.
  void extend(SpanKind kind, const Span& by) noexcept {
    Span& span = spans_[static_cast<std::size_t>(kind)];
    span = span.with(by);
  }
  void forget(SpanKind kind) noexcept { spans_[static_cast<std::size_t>(kind)] = Span(); }
  /// Forgets the spans that every snapshot from `horizon` on sees.
  void forget_seen_from(Gsn horizon) noexcept {
    for (Span& span : spans_) {
      span = span.to <= horizon ? Span() : span;
    }
  }

  // The marks of a page that is not in memory: two bits a slot

  /// Remembers that every slot is marked as made; needs no memory.
  void remember_all_made() noexcept {
    forget_marks();
    all_made_ = true;
  }
  [[nodiscard]] bool are_all_made() const noexcept { return all_made_; }
  /// Makes room for so many slots, none of which is marked. Throws std::bad_alloc.
  void remember(std::size_t slots) {
    forget_marks();
    const std::size_t bytes = (slots + kSlotsPerByte - 1) / kSlotsPerByte;
    marks_ = static_cast<std::uint8_t*>(memory_.allocate(bytes));
    marks_bytes_ = bytes;
    std::fill_n(marks_, bytes, std::uint8_t{0});
  }
  void mark(std::size_t slot, SpanKind kind) noexcept {
    marks_[slot / kSlotsPerByte] |= static_cast<std::uint8_t>(bit(slot, kind));
  }
  [[nodiscard]] bool is_marked(std::size_t slot, SpanKind kind) const noexcept {
    return (all_made_ && kind == SpanKind::made) ||
           (slot / kSlotsPerByte < marks_bytes_ &&
            (marks_[slot / kSlotsPerByte] & bit(slot, kind)) != 0);
  }
  void forget_marks() noexcept {
    all_made_ = false;
    if (marks_ != nullptr) {
      memory_.deallocate(marks_, marks_bytes_);
      marks_ = nullptr;
      marks_bytes_ = 0;
    }
  }

 private:
  static constexpr std::size_t kSlotsPerByte = 4;

  [[nodiscard]] static unsigned bit(std::size_t slot, SpanKind kind) noexcept {
    return 1U << (slot % kSlotsPerByte * 2 + static_cast<std::size_t>(kind));
  }

  EntryMemory& memory_;
  std::array<Span, 2> spans_{};
  std::uint8_t* marks_ = nullptr;
  std::size_t marks_bytes_ = 0;
  bool all_made_ = false;
};

static_assert(sizeof(Spans) <= 64);

}  // namespace palimpsest::versioning
