#include "versioning/unchanged_page.h"

#include <utility>

#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "versioning/writer.h"

namespace palimpsest::versioning {

UnchangedPage::UnchangedPage(const Entry& entry) noexcept PALIMPSEST_NO_ANALYSIS {
  buffer::Frame* const frame = entry.changed_in().unchanged_frame();
  PALIMPSEST_SYNC_POINT("versioning.unchanged.found");
  if (frame == nullptr || !frame->latch.try_lock_exclusive()) {
    return;
  }
  auto* const table = static_cast<MappingTable*>(frame->attached.load(std::memory_order_relaxed));
  if (table == nullptr || !table->has(entry)) {
    frame->latch.unlock_exclusive_unchanged();
    return;
  }
  frame_ = frame;
  table_ = table;
}

UnchangedPage::~UnchangedPage() PALIMPSEST_NO_ANALYSIS {
  if (frame_ != nullptr) {
    frame_->latch.unlock_exclusive_unchanged();
  }
}

void UnchangedPage::take_out(Entry& entry, Writer* into) noexcept {
  EntryPtr taken = table_->erase(entry);
  TablePtr table;
  if (!table_->is_needed()) {
    frame_->hang(nullptr);
    table.reset(std::exchange(table_, nullptr));
  }
  if (into != nullptr) {
    into->recycle(std::move(taken));
    into->recycle(std::move(table));
  }
}

}  // namespace palimpsest::versioning
