#include "engine/table/row_visit.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "btree/ghost_skip.h"
#include "btree/leaf_walk.h"
#include "btree/node/key_bytes.h"
#include "btree/visible_record.h"
#include "engine/table/row_messages.h"
#include "engine/table/table_reader.h"

namespace palimpsest::engine {
namespace {

/// One visit of a range.
class RowVisit {
 public:
  RowVisit(const TableReader& reader, VisitRow visit, Direction direction) noexcept
      : reader_(reader),
        visit_(visit),
        direction_(direction == Direction::forward ? btree::Direction::forward
                                                   : btree::Direction::backward),
        skip_(reader.rows(), direction_, reader.read_view(), reader.ghost_run()) {}

  void run(const btree::KeyRange& range) {
    if (versioning::ReadSet* const reads = reader_.read_set()) [[unlikely]] {
      walk_and_note(range, *reads);
    } else {
      walk(range);
    }
    skip_.end();
  }

 private:
  /// As walk(), and adds the range to the read set, up to where the visitor has stopped.
  void walk_and_note(const btree::KeyRange& range, versioning::ReadSet& reads) {
    const auto note = [&](ByteView lower, std::optional<ByteView> upper) {
      return reads.add_range(reader_.rows().id(), lower, upper);
    };
    try {
      walk(range);
    } catch (...) {
      note(range.lower, range.upper);
      throw;
    }
    if (!stopped_) {
      note(range.lower, range.upper);
    } else if (direction_ == btree::Direction::forward) {
      versioning::ReadSet::RangeId read = note(range.lower, range.lower);
      reads.extend_to(read, key_.view());
    } else {
      note(key_.view(), range.upper);
    }
  }

  void walk(btree::KeyRange range) {
    const KeySpace space = reader_.key_space();
    KeyMemory resumed;
    for (;;) {
      stopped_at_large_ = false;
      btree::visit_visible(
          reader_.rows().descent(), skip_.begin(range), direction_, reader_.read_view(),
          [this](const btree::LeafView& leaf, btree::SlotIndex first, btree::SlotIndex last) {
            return visit_leaf(leaf, first, last);
          },
          [this](const btree::LeafView& leaf, const btree::LeafRecord& record) {
            reader_.confirm_rows();
            reader_.confirm_view();
            return visit_record(leaf.prefix(), record);
          },
          [&](const btree::LeafWalk& walk) { skip_.pass(walk); });
      if (!stopped_at_large_) {
        if (!stopped_) {
          reader_.confirm_rows();  // of a table that is gone, there was nothing to show
        }
        return;
      }
      if (!visit_large()) {
        stopped_ = true;
        return;
      }
      if (direction_ == btree::Direction::backward) {
        range.upper = key_.view();  // copied by the next walk before key_ changes
        continue;
      }
      const auto above = space.above_whole(key_.view(), resumed);
      if (!above) {
        return;
      }
      range.lower = *above;
    }
  }

  /// Called under the leaf's latch. Returns whether to go on.
  [[nodiscard]] bool visit_leaf(const btree::LeafView& leaf, btree::SlotIndex first,
                                btree::SlotIndex last) {
    reader_.confirm_rows();
    reader_.confirm_view();
    const ByteView prefix = leaf.prefix();
    const auto record = [&](btree::SlotIndex number) {
      return leaf.record(direction_ == btree::Direction::forward ? first + number
                                                                 : last - 1 - number);
    };
    for (btree::SlotIndex number = 0; number < last - first; ++number) {
      if (!visit_record(prefix, record(number))) {
        if (stopped_at_large_ && large_to_come_ == 0) {
          look_ahead(number, last - first, record);
        }
        return false;
      }
    }
    return true;
  }

  /// Called under the leaf's latch: collects the large values that the visit meets next, if it goes
  /// on.
  template <class RecordAt>
  void look_ahead(btree::SlotIndex number, btree::SlotIndex end, const RecordAt& record_at) {
    for (; number < end && ahead_.size() < ahead_most_; ++number) {
      const btree::LeafRecord record = record_at(number);
      if ((record.flags & btree::kLargeValue) != 0) {
        ahead_.push_back(reader_.rows().large_values().decode(record.value));
      }
    }
  }
  /// Prefetches the collected values together, twice as many each time.
  void prefetch_ahead() {
    if (large_to_come_ == 0) {
      large_to_come_ = ahead_.size();
      if (ahead_.size() > 1) {
        reader_.rows().large_values().prefetch(ahead_);
      }
      ahead_.clear();
      ahead_most_ = std::min(2 * ahead_most_, kAheadMax);
    }
    large_to_come_ -= large_to_come_ == 0 ? 0 : 1;
  }

  [[nodiscard]] bool visit_record(ByteView prefix, const btree::LeafRecord& record) {
    key_.assign_clamped(prefix, record.suffix);
    if ((record.flags & btree::kLargeValue) != 0) [[unlikely]] {
      stopped_at_large_ = true;
      return false;
    }
    if (!show(record.value)) {
      stopped_ = true;
      return false;
    }
    return true;
  }

  /// Visits the row at key_, with no leaf latched. Returns whether to go on.
  [[nodiscard]] bool visit_large() {
    prefetch_ahead();
    std::string row;
    const bool found = reader_.rows().lookup(key_.view(), row, nullptr, reader_.read_view());
    reader_.confirm_rows();
    reader_.confirm_view();
    return !found || show(row);
  }

  [[nodiscard]] bool show(ByteView row) {
    require_fitting(reader_.format(), key_.view(), row);
    parts_.forget();
    return visit_(RowView(key_.view(), row, reader_.format(), parts_));
  }

  const TableReader& reader_;
  VisitRow visit_;
  const btree::Direction direction_;
  btree::KeyBuffer key_;  ///< of the row visited last
  static constexpr std::size_t kAheadMax = 32;
  std::vector<btree::LargeValueDescriptor> ahead_;  ///< of rows of the leaf that stopped the visit
  std::size_t ahead_most_ = 1;                      ///< a visitor that wants one row reads one
  std::size_t large_to_come_ = 0;                   ///< prefetched rows not visited yet
  KeyParts parts_;
  btree::GhostSkip skip_;
  bool stopped_at_large_ = false;
  bool stopped_ = false;  ///< by the visitor
};

}  // namespace

void visit_rows(const TableReader& reader, const btree::KeyRange& range, VisitRow visit,
                Direction direction) {
  RowVisit(reader, visit, direction).run(range);
}

}  // namespace palimpsest::engine
