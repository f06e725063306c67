#include "btree/cursor.h"

#include <algorithm>

#include "btree/ghost_skip.h"
#include "btree/leaf_entries.h"
#include "btree/visible_record.h"

namespace palimpsest::btree {

Cursor::Cursor(const BTree& tree, std::size_t records_hint, const versioning::ReadView* read_view)
    : tree_(&tree), read_view_(read_view), batch_records_(std::max<std::size_t>(records_hint, 1)) {}

void Cursor::seek_first() {
  fill_forward(bounds_.lower, Bound::inclusive, run_);
}

void Cursor::seek(ByteView key) {
  fill_forward(std::max(key, bounds_.lower), Bound::inclusive, run_);
}

void Cursor::seek_last() {
  fill_backward(bounds_.upper, run_);
}

// Walks backwards from the least key above `key`. A key of maximum length has no such key that a
// walk could begin at.
void Cursor::seek_for_prev(ByteView key) {
  std::string above(key);
  if (key.size() < KeyBuffer::capacity()) {
    above.push_back('\0');
  } else {
    seek(above);
    if (valid() && this->key() == above) {
      return;
    }
  }
  const bool is_bounded = bounds_.upper && *bounds_.upper < above;
  fill_backward(is_bounded ? *bounds_.upper : ByteView(above), run_);
}

void Cursor::next() {
  if (position_ + 1 < records_.size()) {
    ++position_;
    return;
  }
  fill_forward(std::string(key()), Bound::exclusive, nullptr);
  prefetch_large();
}

void Cursor::previous() {
  if (position_ > 0) {
    --position_;
    return;
  }
  const std::string here(key());
  fill_backward(here, nullptr);
  prefetch_large();
}

bool Cursor::read_value(std::string& into) const {
  if (!value_is_large()) {
    into.assign(value());
    return true;
  }
  return tree_->lookup(key(), into, nullptr, read_view_);
}

// An exclusive `from` must not lie in this cursor's own bytes. If the fill fails, the cursor is
// invalid, whatever was copied.
void Cursor::fill_forward(ByteView from, Bound bound, GhostRun* run) {
  position_ = kNowhere;
  GhostSkip skip(*tree_, Direction::forward, read_view_, run);
  LeafWalk walk(tree_->descent(), skip.begin({from, bounds_.upper}), Direction::forward);
  bytes_.clear();
  records_.clear();
  while (records_.empty() && walk.next()) {
    SlotIndex first = walk.first();
    if (bound == Bound::exclusive) {
      // Not only the first leaf can hold `from`: a merge may bring it into the second, where it
      // lies below the range.
      const SearchResult at = walk.leaf().find(from);
      first += at.found && at.slot == first ? 1 : 0;
    }
    copy_batch(walk, first, Direction::forward);
    if (records_.empty()) {
      skip.pass(walk);
    }
  }
  skip.end();
  position_ = 0;
}

void Cursor::prefetch_large() const {
  std::vector<LargeValueDescriptor> values;
  for (const Record& record : records_) {
    if ((record.flags & kLargeValue) != 0) {
      values.push_back(tree_->large_values().decode(view(record.value)));
    }
  }
  if (!values.empty()) {
    tree_->large_values().prefetch(values);
  }
}

void Cursor::fill_backward(std::optional<ByteView> upper, GhostRun* run) {
  position_ = kNowhere;
  GhostSkip skip(*tree_, Direction::backward, read_view_, run);
  LeafWalk walk(tree_->descent(), skip.begin({bounds_.lower, upper}), Direction::backward);
  bytes_.clear();
  records_.clear();
  while (records_.empty() && walk.next()) {
    copy_batch(walk, walk.first(), Direction::backward);
    if (records_.empty()) {
      skip.pass(walk);
    }
  }
  skip.end();
  position_ = records_.empty() ? 0 : records_.size() - 1;
}

SlotIndex Cursor::limit(SlotIndex available) noexcept {
  const auto batch = static_cast<SlotIndex>(std::min<std::size_t>(available, batch_records_));
  batch_records_ = std::min<std::size_t>(batch_records_ * 2, buffer::kPageSizeMax);
  return batch;
}

// Ghosts do not count: a leaf with one record left among ghosts still yields that record.
void Cursor::copy_batch(const LeafWalk& walk, SlotIndex first, Direction direction) {
  const bool backward = direction == Direction::backward;
  const LeafView leaf = walk.leaf();
  const SlotIndex last = walk.last();
  SlotIndex wanted = limit(last - first);
  if (!sees_as_it_lies(tree_->descent(), walk.frame(), leaf, read_view_)) {
    copy_visible(walk, first, wanted, backward);
    return;
  }
  SlotIndex begin = backward ? last : first;
  SlotIndex end = begin;
  for_each_live_run(leaf, first, last, backward, [&](SlotIndex run_first, SlotIndex run_last) {
    const SlotIndex taken = std::min(wanted, run_last - run_first);
    wanted -= taken;
    begin = backward ? run_last - taken : begin;
    end = backward ? end : run_first + taken;
    return wanted > 0;
  });
  for_each_live_run(leaf, begin, end, false, [&](SlotIndex run_first, SlotIndex run_last) {
    copy(leaf, run_first, run_last);
    return true;
  });
}

void Cursor::copy_visible(const LeafWalk& walk, SlotIndex first, SlotIndex wanted, bool backward) {
  const LeafView leaf = walk.leaf();
  for_each_visible(tree_->descent(), walk.frame(), leaf, first, walk.last(), backward, read_view_,
                   [&](SlotIndex, const LeafRecord& record) {
                     copy(leaf, record);
                     return --wanted > 0;
                   });
  if (backward) {
    std::ranges::reverse(records_);
  }
}

void Cursor::copy(const LeafView& leaf, SlotIndex first, SlotIndex last) {
  for (SlotIndex slot = first; slot < last; ++slot) {
    copy(leaf, leaf.record(slot));
  }
}

void Cursor::copy(const LeafView& leaf, const LeafRecord& record) {
  const Piece key = append(leaf.prefix(), record.suffix);
  const Piece value = append(record.value, ByteView());
  records_.push_back({key, value, record.flags});
}

Cursor::Piece Cursor::append(ByteView first, ByteView second) {
  const auto offset = static_cast<std::uint32_t>(bytes_.size());
  bytes_.append(first).append(second);
  return {offset, static_cast<std::uint32_t>(first.size() + second.size())};
}

}  // namespace palimpsest::btree
