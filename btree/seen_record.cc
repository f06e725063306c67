#include "btree/seen_record.h"

#include <thread>

#include "base/futex.h"
#include "base/sync_point.h"
#include "btree/leaf_entries.h"

namespace palimpsest::btree {

namespace {

constexpr int kSpinsMax = 64;

}  // namespace

RecordImage seen_record(const LeafView& leaf, SlotIndex slot, const versioning::Entry* entry,
                        const versioning::Viewer& viewer, ValueBuffer& memory) noexcept {
  for (int spins = 0;; ++spins) {
    RecordImage image(leaf, slot, memory);
    if (entry == nullptr || versioning::view(*entry, viewer, image)) {
      return image;
    }
    PALIMPSEST_SYNC_POINT("btree.read.undecided");
    if (spins < kSpinsMax) {
      spin_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

bool any_changed_since(const Descent& descent, const versioning::Viewer& viewer) {
  bool any = false;
  LeafWalk walk(descent, {ByteView(), std::nullopt}, Direction::forward);
  while (!any && walk.next()) {
    if (const versioning::MappingTable* const table = table_of(walk.frame())) {
      table->visit([&](const versioning::Entry& entry) {
        any = any || versioning::has_changed_since(entry, viewer);
      });
    }
  }
  return any;
}

}  // namespace palimpsest::btree
