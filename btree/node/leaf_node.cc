#include "btree/node/leaf_node.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/prefetch.h"
#include "btree/node/node_edit.h"
#include "btree/node/node_search.h"

namespace palimpsest::btree {
namespace {

using Editor = NodeEditor<LeafSlot>;

/// The longest upper fence that seal() may need after `last`: its successor, at most one byte
/// longer.
std::uint32_t seal_reserve_bytes(ByteView last, std::uint32_t page_size) noexcept {
  return std::min(static_cast<std::uint32_t>(last.size()) + 1, key_bytes_max(page_size));
}

/// The first byte at or after `from` that is not 0xff; the size if there is none.
std::size_t incrementable_byte(ByteView key, std::size_t from) noexcept {
  while (from < key.size() && key[from] == '\xff') {
    ++from;
  }
  return from;
}

LeafSlot slot_of(ByteView suffix, ByteView value, std::uint16_t flags) noexcept {
  return {.head = 0,
          .offset = 0,
          .key_len = static_cast<std::uint16_t>(suffix.size()),
          .value_len = static_cast<std::uint16_t>(value.size()),
          .flags = flags};
}

/// Writes the value to `place`, where the record has space for it.
void put_value(std::byte* place, ByteView value) noexcept {
  if (!value.empty()) {
    std::memcpy(place, value.data(), value.size());
  }
}

}  // namespace

std::uint64_t LeafView::search(ByteView key) const noexcept {
  return search_node<LeafSlot>(*this, count(), key);
}

std::uint64_t LeafView::search_within(ByteView key) const noexcept {
  return btree::search_within<LeafSlot>(*this, count(), key);
}

std::uint64_t LeafView::search_within(ByteView key, SlotIndex likely) const noexcept {
  return search_within_from<LeafSlot>(*this, count(), key, likely);
}

void LeafView::prefetch_slots(ByteView key) const noexcept {
  btree::prefetch_slots<LeafSlot>(*this, count(), key);
}

SlotIndex LeafView::likely_slot(ByteView key, std::size_t value_bytes) const noexcept {
  const SlotIndex slot = first_by_head<LeafSlot>(*this, count(), key);
  const auto address = [](ByteView bytes) {
    return reinterpret_cast<const std::byte*>(bytes.data());
  };
  const ByteView value = this->value(slot);
  prefetch(address(suffix(slot)), address(value) + std::min(value.size(), value_bytes));
  return slot;
}

ByteView LeafView::suffix(SlotIndex slot) const noexcept {
  if (slot >= count()) {
    return as_view(page_, 0);
  }
  return SlotReader<LeafSlot>(*this, 0).suffix(slot);
}

std::uint32_t LeafView::free_bytes() const noexcept {
  const NodeHeader& h = header();
  return capacity_bytes() - h.lower_len - h.upper_len - h.heap_used -
         h.count * static_cast<std::uint32_t>(sizeof(LeafSlot));
}

bool LeafView::can_insert(std::size_t key_len, std::size_t value_len) const noexcept {
  return key_len - header().prefix_len + value_len + sizeof(LeafSlot) <= free_bytes();
}

bool LeafView::can_replace(SlotIndex slot, std::size_t value_len) const noexcept {
  return value_len <= free_bytes() + value(slot).size();
}

void LeafNode::init(PageId page_id, TreeId tree_id, ByteView lower,
                    std::optional<ByteView> upper) noexcept {
  Editor(mutable_page(), page_size_).init({page_id, tree_id, 0}, lower, upper);
}

bool LeafNode::insert(SlotIndex slot, ByteView key, ByteView value, std::uint16_t flags) noexcept {
  PALIMPSEST_DEBUG_CHECK(covers(key), "an inserted key lies within the fences");
  PALIMPSEST_DEBUG_CHECK(!key.empty() && key.size() <= key_bytes_max(page_size_) &&
                             key.size() + value.size() <= record_bytes_max(page_size_),
                         "an inserted record is within the limits");
  if (!can_insert(key.size(), value.size())) {
    return false;
  }
  const Editor editor(mutable_page(), page_size_);
  const ByteView suffix = key.substr(header().prefix_len);
  if (editor.gap_bytes() < sizeof(LeafSlot) + suffix.size() + value.size()) {
    editor.compact();
  }
  put_value(editor.open(slot, slot_of(suffix, value, flags), suffix), value);
  return true;
}

void LeafNode::remove(SlotIndex slot) noexcept {
  Editor(mutable_page(), page_size_).close(slot);
}

MutableBytes LeafNode::value_bytes(SlotIndex slot) noexcept {
  const ByteView bytes = value(slot);
  const auto offset = static_cast<std::size_t>(bytes.data() - as_view(page_, 0).data());
  return {mutable_page() + offset, bytes.size()};
}

bool LeafNode::replace_value(SlotIndex slot, ByteView value) noexcept {
  PALIMPSEST_DEBUG_CHECK(slot < count(), "a replaced record exists");
  const Editor editor(mutable_page(), page_size_);
  LeafSlot changed = editor.slot(slot);
  if (value.size() == changed.value_len) {
    put_value(mutable_page() + changed.offset + changed.key_len, value);
    return true;
  }
  if (!can_replace(slot, value.size())) {
    return false;
  }
  // Removes the record and inserts it again; insertion hints stay as they were.
  const KeyBuffer suffix(this->suffix(slot));
  const NodeHeader before = header();
  editor.close(slot);
  changed.value_len = static_cast<std::uint16_t>(value.size());
  if (editor.gap_bytes() < sizeof(LeafSlot) + record_bytes(changed)) {
    editor.compact();
  }
  put_value(editor.open(slot, changed, suffix.view()), value);
  editor.header().last_insert = before.last_insert;
  editor.header().run = before.run;
  return true;
}

void LeafNode::set_flags(SlotIndex slot, std::uint16_t flags) noexcept {
  const Editor editor(mutable_page(), page_size_);
  LeafSlot changed = editor.slot(slot);
  const unsigned differences = unsigned{changed.flags} ^ flags;
  changed.flags = flags;
  editor.set_slot(slot, changed);
  const auto count = [&](std::uint16_t& counter, unsigned flag) {
    if ((differences & flag) != 0) {
      counter = static_cast<std::uint16_t>(counter + ((flags & flag) != 0 ? 1 : -1));
    }
  };
  if ((differences & (kGhost | kShadowed)) != 0) {
    count(editor.ghost_count(), kGhost);
    count(editor.shadow_count(), kShadowed);
  }
}

void LeafNode::set_bulk_epoch(BulkEpoch epoch) noexcept {
  std::memcpy(mutable_page() + offsetof(buffer::PageHeader, bulk_epoch), &epoch, sizeof epoch);
}

void LeafNode::set_ghost(SlotIndex slot, bool ghost) noexcept {
  PALIMPSEST_DEBUG_CHECK(slot < count(), "only an existing record becomes a ghost");
  const std::uint16_t others = flags(slot) & static_cast<std::uint16_t>(~kGhost);
  set_flags(slot, ghost ? others | kGhost : others);
}

void LeafNode::purge_ghosts(std::span<const SlotIndex> slots) noexcept {
  for (std::size_t i = slots.size(); i-- > 0;) {
    PALIMPSEST_DEBUG_CHECK(is_ghost(slots[i]), "only a ghost is purged");
    remove(slots[i]);
  }
}

void LeafNode::purge_ghosts() noexcept {
  for (SlotIndex slot = count(); slot-- > 0 && ghost_count() != 0;) {
    if (is_ghost(slot)) {
      remove(slot);
    }
  }
}

void LeafNode::compact() noexcept {
  Editor(mutable_page(), page_size_).compact();
}

void LeafNode::begin_build(PageId page_id, TreeId tree_id, ByteView lower) noexcept {
  const Editor editor(mutable_page(), page_size_);
  editor.init({page_id, tree_id, 0}, lower, std::nullopt);
  // While the upper fence is unknown, the prefix is what the lower fence has in common with the
  // last key. It only shrinks as keys ascend, and seal() can always find an upper fence that keeps
  // it.
  editor.header().prefix_len = static_cast<std::uint16_t>(lower.size());
}

bool LeafNode::append(ByteView key, ByteView value, std::uint16_t flags) noexcept {
  PALIMPSEST_DEBUG_CHECK(!key.empty() && key.size() <= key_bytes_max(page_size_) &&
                             key.size() + value.size() <= record_bytes_max(page_size_),
                         "an appended record is within the limits");
  PALIMPSEST_DEBUG_CHECK(lower_fence() <= key, "an appended key is not below the lower fence");
  const Editor editor(mutable_page(), page_size_);
  const std::uint32_t prefix_len = common_prefix_length(prefix(), key);
  const std::uint32_t regrown = count() * (header().prefix_len - prefix_len);
  const std::size_t needed = regrown + sizeof(LeafSlot) + (key.size() - prefix_len) + value.size() +
                             seal_reserve_bytes(key, page_size_);
  // A key at the length limit with nothing but 0xff after the prefix has no successor that keeps
  // the prefix; alone in its node it needs none.
  const bool has_successor =
      key.size() < key_bytes_max(page_size_) || incrementable_byte(key, prefix_len) < key.size();
  if (count() > 0 && (needed > free_bytes() || !has_successor)) {
    return false;
  }
  if (prefix_len < header().prefix_len) {
    const KeyBuffer lower(lower_fence());
    editor.rebuild(lower.view(), std::nullopt, prefix_len);
  }
  const ByteView suffix = key.substr(header().prefix_len);
  put_value(editor.push(slot_of(suffix, value, flags), suffix), value);
  return true;
}

bool LeafNode::seal(std::optional<ByteView> next, KeyBuffer& upper) noexcept {
  check(count() > 0, "a sealed leaf has records");
  const Editor editor(mutable_page(), page_size_);
  const KeyBuffer lower(lower_fence());
  KeyBuffer last;
  copy_key(count() - 1, last);
  const std::uint32_t prefix_len = header().prefix_len;
  const auto fits = [&](std::uint32_t new_prefix_len, std::size_t upper_len) {
    return std::size_t{count()} * (prefix_len - new_prefix_len) + upper_len <= free_bytes();
  };
  if (!next && fits(0, 0)) {
    editor.rebuild(lower.view(), std::nullopt, std::nullopt);
    return false;
  }
  ByteView shortest;
  if (next) {
    PALIMPSEST_DEBUG_CHECK(last.view() < *next, "the next key is above the last one");
    shortest = next->substr(0, separator_length(last.view(), *next));
  }
  if (next && fits(common_prefix_length(lower.view(), shortest), shortest.size())) {
    upper.assign(shortest);
  } else if (const std::size_t at = incrementable_byte(last.view(), prefix_len); at < last.size()) {
    // Above the last key; and below the next, because `next` does not start with the prefix.
    const char incremented = static_cast<char>(last.view()[at] + 1);
    upper.assign_clamped(last.view().substr(0, at), {&incremented, 1});
  } else {
    upper.assign_clamped(last.view(), {"\0", 1});
  }
  const std::uint32_t sealed_prefix_len = common_prefix_length(lower.view(), upper.view());
  if (sealed_prefix_len == prefix_len && upper.size() <= editor.gap_bytes()) [[likely]] {
    editor.finish_build(upper.view());
  } else {
    editor.rebuild(lower.view(), upper.view(), std::nullopt);
  }
  return true;
}

}  // namespace palimpsest::btree
