#include "versioning/table_attachment.h"

#include <mutex>

#include "base/check.h"
#include "versioning/mapping_table.h"

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

Attached* TableAttachment::detach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
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
