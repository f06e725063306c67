#include "engine/table/table_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "btree/ghost_skip.h"
#include "btree/key_places.h"
#include "btree/leaf_walk.h"
#include "btree/node/key_bytes.h"
#include "btree/visible_record.h"
#include "engine/table/key_list.h"
#include "engine/table/row_copy.h"
#include "engine/table/row_messages.h"

namespace palimpsest::engine {
namespace {

/// One visit of a range.
class RowVisit {
 public:
  RowVisit(const TableAccess& access, VisitRow visit, Direction direction) noexcept
      : access_(access),
        visit_(visit),
        direction_(direction == Direction::forward ? btree::Direction::forward
                                                   : btree::Direction::backward),
        skip_(access.rows(), direction_, access.read_view(), access.run()) {}

  void run(const btree::KeyRange& range) {
    if (versioning::ReadSet* const reads = access_.reads()) [[unlikely]] {
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
      return reads.add_range(access_.rows().id(), lower, upper);
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
    const KeySpace space = access_.key_space();
    KeyMemory resumed;
    for (;;) {
      stopped_at_large_ = false;
      btree::visit_visible(
          access_.rows().descent(), skip_.begin(range), direction_, access_.read_view(),
          [this](const btree::LeafView& leaf, btree::SlotIndex first, btree::SlotIndex last) {
            return visit_leaf(leaf, first, last);
          },
          [this](const btree::LeafView& leaf, const btree::LeafRecord& record) {
            access_.confirm_rows();
            access_.confirm_view();
            return visit_record(leaf.prefix(), record);
          },
          [&](const btree::LeafWalk& walk) { skip_.pass(walk); });
      if (!stopped_at_large_) {
        if (!stopped_) {
          access_.confirm_rows();  // of a table that is gone, there was nothing to show
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
    access_.confirm_rows();
    access_.confirm_view();
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
        ahead_.push_back(access_.rows().large_values().decode(record.value));
      }
    }
  }
  /// Prefetches the collected values together, twice as many each time.
  void prefetch_ahead() {
    if (large_to_come_ == 0) {
      large_to_come_ = ahead_.size();
      if (ahead_.size() > 1) {
        access_.rows().large_values().prefetch(ahead_);
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
    const bool found = access_.rows().lookup(key_.view(), row, nullptr, access_.read_view());
    access_.confirm_rows();
    access_.confirm_view();
    return !found || show(row);
  }

  [[nodiscard]] bool show(ByteView row) {
    require_fitting(access_.format(), key_.view(), row);
    parts_.forget();
    return visit_(RowView(key_.view(), row, access_.format(), parts_));
  }

  const TableAccess& access_;
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

void note_reads(const TableAccess& access, std::span<const ByteView> keys) {
  if (access.reads() != nullptr) [[unlikely]] {
    for (const ByteView key : keys) {
      access.note_read(access.rows(), key);
    }
  }
}

bool has_null(const Key& key) noexcept {
  return std::ranges::any_of(key.values(), &Value::is_null);
}

}  // namespace

void TableReads::show(ByteView key, ByteView bytes, ReadRow use) const {
  require_fitting(access_.format(), key, bytes);
  KeyParts parts;
  use(RowView(key, bytes, access_.format(), parts));
}

// Without a transaction no latch is held while the tree shows a row, so the tree's own copy
// suffices.
bool TableReads::read_encoded(ByteView key, ReadRow use, btree::LastLeaf* last) const {
  const btree::BTree& rows = access_.rows();
  if (access_.transaction() == nullptr) {
    const bool found = rows.lookup_with(
        key,
        [&](ByteView bytes) {
          access_.confirm_rows();
          show(key, bytes, use);
        },
        last);
    if (!found) {
      access_.confirm_rows();
    }
    return found;
  }
  RowCopy row;
  const bool found = access_.read([&] {
    access_.note_read(rows, key);
    const bool is_there = rows.lookup_with(
        key, [&](ByteView bytes) { row.assign(bytes); }, last, access_.read_view());
    access_.confirm_rows();
    return is_there;
  });
  if (found) {
    show(key, row.view(), use);
  }
  return found;
}

bool TableReads::read(const Key& key, ReadRow use) const {
  KeyMemory memory;
  return read_encoded(access_.key_space().whole(key, memory), use, nullptr);
}

std::optional<bool> TableReads::read_stable(const Key& key, ReadRow use) const {
  KeyMemory memory;
  const ByteView encoded = access_.key_space().whole(key, memory);
  bool is_current = true;
  const auto found = access_.rows().lookup_stable(encoded, [&](ByteView bytes) {
    is_current = access_.rows_are_current();
    if (is_current) {
      show(encoded, bytes, use);
    }
  });
  if (found.has_value() && !*found) {
    is_current = access_.rows_are_current();
  }
  return is_current ? found : std::nullopt;
}

// Copies a group of rows in one call of the transaction, and shows them when no latch is held.
void TableReads::read_many(std::span<const Key> keys, ReadRows use) const {
  const KeyList encoded(access_.key_space(), keys);
  RowCopies rows;
  for (std::size_t first = 0; first < keys.size(); first += btree::kKeysTogether) {
    const auto group =
        encoded.keys().subspan(first, std::min(btree::kKeysTogether, keys.size() - first));
    rows.clear();
    access_.read([&] {
      note_reads(access_, group);
      access_.rows().lookup_many(
          group, [&](std::size_t number, ByteView bytes) { rows.add(number, bytes); },
          access_.read_view());
      access_.confirm_rows();
    });
    rows.for_each([&](std::size_t number, ByteView bytes) {
      show(group[number], bytes, [&](const RowView& row) { use(first + number, row); });
    });
  }
}

void TableReads::visit_many(std::span<const Key> keys, ReadRows visit) const {
  const KeyList encoded(access_.key_space(), keys);
  access_.read([&] {
    note_reads(access_, encoded.keys());
    access_.rows().visit_many(
        encoded.keys(),
        [&](std::size_t number, ByteView bytes) {
          access_.confirm_rows();
          access_.confirm_view();
          show(encoded.keys()[number], bytes, [&](const RowView& row) { visit(number, row); });
        },
        access_.read_view());
    access_.confirm_rows();  // of a table that is gone, there was nothing to show
  });
}

void TableReads::visit(const Range& range, VisitRow visit, Direction direction) const {
  const EncodedRange encoded(access_.key_space(), range);
  access_.read([&] { RowVisit(access_, visit, direction).run(encoded.keys()); });
}

bool TableReads::read_by_index(std::string_view index, const Key& key, ReadRow use) const {
  const std::size_t number = access_.require_index(index);
  if (!access_.format().indexes()[number].codec.is_unique()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", index \"{}\": only a unique index can find a single row",
                            access_.format().schema().name, index));
  }
  KeyMemory memory;
  const KeySpace space = access_.index_space(number);
  const ByteView entry = space.whole(key, memory);
  if (has_null(key)) {
    return false;
  }
  btree::KeyBuffer primary_key;
  const bool has_entry = access_.read([&] {
    access_.note_read(access_.index(number), entry);
    const bool found = access_.index(number).lookup_with(
        entry, [&](ByteView value) { primary_key.assign_clamped(value, ByteView()); }, nullptr,
        access_.read_view());
    access_.confirm_index(number);
    return found;
  });
  if (!has_entry) {
    return false;
  }
  if (primary_key.size() == 0 || primary_key.size() > space.bytes_max()) {
    refuse_damaged_index(access_.format(), number, "an entry names no primary key");
  }
  return read_encoded(primary_key.view(), use, nullptr);
}

}  // namespace palimpsest::engine
