#include "versioning/table_attachment.h"

#include "base/check.h"
#include "versioning/mapping_table.h"

namespace palimpsest::versioning {

using buffer::Attached;

Attached* TableAttachment::detach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
}

Attached* TableAttachment::attach(Attached& attached) noexcept {
  return prune(attached) ? &attached : nullptr;
}

bool TableAttachment::prune(Attached& orphan) noexcept {
  auto& table = static_cast<MappingTable&>(orphan);
  table.prune([](EntryPtr) {});
  if (table.count() != 0) {
    return true;
  }
  MappingTable::destroy(table);
  return false;
}

void TableAttachment::destroy(Attached& attached) noexcept {
  auto& table = static_cast<MappingTable&>(attached);
  table.prune([](EntryPtr) {});
  check(table.count() == 0, "writers end before the pages they have written do");
  MappingTable::destroy(table);
}

}  // namespace palimpsest::versioning
