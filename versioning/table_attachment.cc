#include "versioning/table_attachment.h"

#include <mutex>

#include "base/check.h"
#include "versioning/mapping_table.h"
#include "versioning/prune.h"

namespace palimpsest::versioning {

using buffer::Attached;
using buffer::Hanging;

namespace {

MappingTable& table(Attached& attached) noexcept {
  return static_cast<MappingTable&>(attached);
}

}  // namespace

void TableAttachment::fold_with(PageFolder* folder) noexcept {
  const std::lock_guard alone(folding_);
  folder_ = folder;
}

void TableAttachment::fold(std::span<Hanging> hanging) noexcept {
  const std::shared_lock with_others(folding_);
  if (folder_ != nullptr) {
    folder_->fold(hanging);
  }
}

bool TableAttachment::prepare_detach(Hanging& hanging) noexcept {
  const std::shared_lock with_others(folding_);
  if (folder_ == nullptr) {
    return true;
  }
  folder_->fold({&hanging, 1});
  return folder_->remember_marks(hanging);
}

Attached* TableAttachment::detach(Attached& attached, PageId page) noexcept {
  if (!prune(attached)) {
    return nullptr;
  }
  if (!absorb(table(attached), page)) {
    return &attached;
  }
  MappingTable::destroy(table(attached));
  return nullptr;
}

/// Whether the table says nothing but that all its page's records were made in one span, and a
/// block says so from now on.
bool TableAttachment::absorb(const MappingTable& table, PageId page) noexcept {
  const Spans* const spans = table.spans();
  if (table.count() != 0 || spans == nullptr || !spans->are_all_made() ||
      spans->has(SpanKind::removed)) {
    return false;
  }
  const std::shared_lock with_others(folding_);
  if (folder_ == nullptr) {
    return false;
  }
  bool absorbed = false;
  folder_->with_pruner([&](Pruner& pruner) {
    absorbed = blocks_.enter(
        page, {.span = spans->of(SpanKind::made), .youngest = table.youngest()},
        [&](const Span& one, const Span& other) { return pruner.can_join(one, other); });
  });
  return absorbed;
}

void TableAttachment::restore(PageId page, FunctionRef<void(Attached&)> enter) {
  blocks_.take(page, [&](const SpanBlocks::Made& made) {
    TablePtr table = MappingTable::make(memory_);
    Spans& spans = table->make_spans();
    spans.extend(SpanKind::made, made.span);
    spans.remember_all_made();
    table->left_version(made.youngest);
    enter(*table.release());
  });
}

void TableAttachment::prune_some_absorbed() noexcept {
  blocks_.prune_some(memory_.horizon());
}

void TableAttachment::prune_all_absorbed(FunctionRef<bool()> is_enough) noexcept {
  blocks_.prune_all(memory_.horizon(), is_enough);
}

Attached* TableAttachment::attach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
}

bool TableAttachment::prune(Attached& attached) noexcept {
  MappingTable& pruned = table(attached);
  pruned.prune([](EntryPtr) {});
  pruned.trim();  // after folding, only the table itself is left
  if (pruned.is_needed()) {
    return true;
  }
  MappingTable::destroy(pruned);
  return false;
}

// Each step prefetches what the next one reads.
void TableAttachment::prune_all(std::span<Hanging> hanging) noexcept {
  for (const Hanging& one : hanging) {
    table(*one.what).prefetch();
  }
  for (const Hanging& one : hanging) {
    table(*one.what).prefetch_cells();
  }
  for (const Hanging& one : hanging) {
    table(*one.what).prefetch_entries();
  }
  fold(hanging);
  for (Hanging& one : hanging) {
    one.what = prune(*one.what) ? one.what : nullptr;
  }
}

void TableAttachment::destroy(Attached& attached) noexcept {
  MappingTable& ended = table(attached);
  ended.prune([](EntryPtr) {});
  check(ended.count() == 0, "writers end before the pages that they changed are released");
  MappingTable::destroy(ended);
}

}  // namespace palimpsest::versioning
