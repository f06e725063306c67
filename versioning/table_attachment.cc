#include "versioning/table_attachment.h"

#include "base/check.h"
#include "versioning/mapping_table.h"

namespace palimpsest::versioning {

using buffer::Attached;

namespace {

MappingTable& table(Attached& attached) noexcept {
  return static_cast<MappingTable&>(attached);
}

}  // namespace

Attached* TableAttachment::detach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
}

Attached* TableAttachment::attach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
}

bool TableAttachment::prune(Attached& attached) noexcept {
  MappingTable& pruned = table(attached);
  pruned.prune([](EntryPtr) {});
  if (pruned.count() != 0) {
    return true;
  }
  MappingTable::destroy(pruned);
  return false;
}

// Each step asks for what the next one reads.
void TableAttachment::prune_all(std::span<Attached*> attached) noexcept {
  for (Attached* one : attached) {
    table(*one).prefetch();
  }
  for (Attached* one : attached) {
    table(*one).prefetch_cells();
  }
  for (Attached* one : attached) {
    table(*one).prefetch_entries();
  }
  for (Attached*& one : attached) {
    one = prune(*one) ? one : nullptr;
  }
}

void TableAttachment::destroy(Attached& attached) noexcept {
  MappingTable& ended = table(attached);
  ended.prune([](EntryPtr) {});
  check(ended.count() == 0, "writers end before the pages they have written do");
  MappingTable::destroy(ended);
}

}  // namespace palimpsest::versioning
