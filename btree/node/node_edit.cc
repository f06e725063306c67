#include "btree/node/node_edit.h"

#include "base/check.h"
#include "btree/node/node_search.h"

namespace palimpsest::btree {
namespace {

/// Nodes with fewer records have no head_skip, and neither have those where it would gain little: a
/// head with three distinguishing bytes is good enough.
constexpr SlotIndex kHeadSkipCountMin = 8;
constexpr std::uint32_t kHeadSkipMin = 2;

}  // namespace

template <class Slot>
void NodeEditor<Slot>::init(const NodeIdentity& identity, ByteView lower,
                            std::optional<ByteView> upper) const noexcept {
  std::memset(page_, 0, page_size_);
  auto& page_header = *static_cast<buffer::PageHeader*>(static_cast<void*>(page_));
  page_header.page_id = identity.page_id;
  page_header.tree_id = identity.tree_id;
  page_header.format_version = buffer::kPageFormatVersion;
  page_header.type =
      identity.level == 0 ? buffer::PageType::tree_leaf : buffer::PageType::tree_inner;
  header().level = static_cast<std::uint8_t>(identity.level);
  header().last_insert = kNoInsertYet;
  write_fences(lower, upper);
}

template <class Slot>
void NodeEditor<Slot>::reset(ByteView lower, std::optional<ByteView> upper) const noexcept {
  NodeHeader& h = header();
  const NodeHeader old = h;
  std::memset(page_ + kNodeHeaderOffset, 0, page_size_ - kNodeHeaderOffset);
  ghost_count() = 0;
  shadow_count() = 0;
  h.level = old.level;
  h.leftmost_child = old.leftmost_child;
  h.last_insert = kNoInsertYet;
  write_fences(lower, upper);
}

template <class Slot>
void NodeEditor<Slot>::write_fences(ByteView lower, std::optional<ByteView> upper) const noexcept {
  const ByteView high = upper.value_or(ByteView{});
  PALIMPSEST_DEBUG_CHECK(
      lower.size() <= key_bytes_max(page_size_) && high.size() <= key_bytes_max(page_size_),
      "fences are within the key limit");
  PALIMPSEST_DEBUG_CHECK(!upper || lower < *upper, "the lower fence is below the upper");
  NodeHeader& h = header();
  h.lower_len = static_cast<std::uint16_t>(lower.size());
  h.upper_len = static_cast<std::uint16_t>(high.size());
  h.flags = upper ? 0 : kUpperIsInfinite;
  h.prefix_len = static_cast<std::uint16_t>(upper ? common_prefix_length(lower, high) : 0);
  h.heap_begin = fences_begin();
  if (!lower.empty()) {
    std::memcpy(page_ + page_size_ - lower.size(), lower.data(), lower.size());
  }
  if (!high.empty()) {
    std::memcpy(page_ + h.heap_begin, high.data(), high.size());
  }
}

template <class Slot>
void NodeEditor<Slot>::append_from(const NodeView& from, SlotIndex begin,
                                   SlotIndex end) const noexcept {
  const std::uint32_t here = header().prefix_len;
  const std::uint32_t there = from.header().prefix_len;
  const std::uint32_t drop = here > there ? here - there : 0;
  const ByteView extra = here < there ? from.prefix().substr(here) : ByteView{};
  std::uint32_t ghosts = 0;
  std::uint32_t shadows = 0;
  for (SlotIndex i = begin; i < end; ++i) {
    Slot slot;
    std::memcpy(&slot, from.page() + kSlotsOffset + i * sizeof(Slot), sizeof slot);
    const std::byte* record = from.page() + slot.offset + drop;
    const std::uint32_t kept_bytes = record_bytes(slot) - drop;
    slot.key_len = static_cast<std::uint16_t>(slot.key_len - drop + extra.size());
    const std::uint32_t offset = take_heap(record_bytes(slot));
    slot.offset = static_cast<std::uint16_t>(offset);
    if (!extra.empty()) {
      std::memcpy(page_ + offset, extra.data(), extra.size());
    }
    std::memcpy(page_ + offset + extra.size(), record, kept_bytes);
    set_slot(header().count, slot);
    ++header().count;
    ghosts += is_ghost(slot) ? 1U : 0U;
    shadows += is_shadowed(slot) ? 1U : 0U;
  }
  ghost_count() = static_cast<std::uint16_t>(ghost_count() + ghosts);
  shadow_count() = static_cast<std::uint16_t>(shadow_count() + shadows);
  PALIMPSEST_DEBUG_CHECK(slots_end() <= header().heap_begin, "appended records fit");
  refresh_heads();
}

template <class Slot>
void NodeEditor<Slot>::rebuild(ByteView lower, std::optional<ByteView> upper,
                               std::optional<std::uint32_t> prefix_len) const noexcept {
  with_scratch_page(page_size_, [&](std::byte* scratch) {
    std::memcpy(scratch, page_, page_size_);
    const NodeView old(scratch, page_size_);
    reset(lower, upper);
    if (prefix_len) {
      header().prefix_len = static_cast<std::uint16_t>(*prefix_len);
    }
    append_from(old, 0, old.header().count);
    header().last_insert = old.header().last_insert;
    header().run = old.header().run;
  });
}

// Moves the records to make space for the fence, which lies above them.
template <class Slot>
void NodeEditor<Slot>::finish_build(ByteView upper) const noexcept {
  NodeHeader& h = header();
  const auto shift = static_cast<std::uint16_t>(upper.size());
  PALIMPSEST_DEBUG_CHECK(h.upper_len == 0 && shift <= gap_bytes(), "the upper fence fits the gap");
  std::memmove(page_ + h.heap_begin - shift, page_ + h.heap_begin, fences_begin() - h.heap_begin);
  const auto suffix_of = [&](const Slot& moved) {
    return as_view(page_ + moved.offset - shift, moved.key_len);
  };
  const std::uint32_t skip =
      h.count == 0 ? 0 : skip_of_heads(suffix_of(slot(0)), suffix_of(slot(h.count - 1)));
  std::uint32_t ghosts = 0;
  std::uint32_t shadows = 0;
  for (SlotIndex i = 0; i < h.count; ++i) {
    Slot moved = slot(i);
    moved.head = head_after(suffix_of(moved), skip);
    moved.offset = static_cast<std::uint16_t>(moved.offset - shift);
    set_slot(i, moved);
    ghosts += is_ghost(moved) ? 1U : 0U;
    shadows += is_shadowed(moved) ? 1U : 0U;
  }
  ghost_count() = static_cast<std::uint16_t>(ghosts);
  shadow_count() = static_cast<std::uint16_t>(shadows);
  h.heap_begin -= shift;
  h.upper_len = shift;
  h.flags = 0;
  h.head_skip = static_cast<std::uint16_t>(skip);
  std::memcpy(page_ + fences_begin(), upper.data(), upper.size());
  refresh_hints();
}

template <class Slot>
void NodeEditor<Slot>::compact() const noexcept {
  const NodeView now(page_, page_size_);
  const KeyBuffer lower(now.lower_fence());
  const KeyBuffer upper(now.upper_fence());
  rebuild(lower.view(),
          now.upper_is_infinite() ? std::nullopt : std::optional<ByteView>(upper.view()),
          header().prefix_len);
}

template <class Slot>
std::byte* NodeEditor<Slot>::open(SlotIndex i, Slot slot, ByteView suffix) const noexcept {
  NodeHeader& h = header();
  PALIMPSEST_DEBUG_CHECK(i <= h.count,
                         "a slot is inserted at an existing one or after the last one");
  PALIMPSEST_DEBUG_CHECK(gap_bytes() >= sizeof(Slot) + record_bytes(slot),
                         "an inserted record fits the gap");
  if (h.head_skip != 0) {
    const std::uint32_t common = common_prefix_length(suffix, this->suffix(0));
    if (common < h.head_skip) {
      set_head_skip(common);
    }
  }
  const std::uint32_t offset = take_heap(record_bytes(slot));
  slot.offset = static_cast<std::uint16_t>(offset);
  slot.head = head_after(suffix, h.head_skip);
  if (!suffix.empty()) {
    std::memcpy(page_ + offset, suffix.data(), suffix.size());
  }
  std::memmove(slot_address(i + 1), slot_address(i), (h.count - i) * sizeof(Slot));
  set_slot(i, slot);
  ++h.count;
  if (is_ghost(slot)) {
    ++ghost_count();
  }
  if (is_shadowed(slot)) {
    ++shadow_count();
  }
  note_insert(i);
  if (h.count >= kHeadSkipCountMin && (h.count & (h.count - 1)) == 0) {
    refresh_heads();  // whenever the count doubles: nodes that only grow are not rebuilt
  } else {
    refresh_hints();
  }
  return page_ + offset + suffix.size();
}

template <class Slot>
std::byte* NodeEditor<Slot>::push(Slot slot, ByteView suffix) const noexcept {
  PALIMPSEST_DEBUG_CHECK(gap_bytes() >= sizeof(Slot) + record_bytes(slot),
                         "an appended record fits the gap");
  NodeHeader& h = header();
  const std::uint32_t offset = take_heap(record_bytes(slot));
  slot.offset = static_cast<std::uint16_t>(offset);
  if (!suffix.empty()) {
    std::memcpy(page_ + offset, suffix.data(), suffix.size());
  }
  set_slot(h.count, slot);
  note_insert(h.count);
  ++h.count;
  return page_ + offset + suffix.size();
}

template <class Slot>
void NodeEditor<Slot>::close(SlotIndex i) const noexcept {
  NodeHeader& h = header();
  PALIMPSEST_DEBUG_CHECK(i < h.count, "a removed slot exists");
  const Slot old = slot(i);
  give_heap(old.offset, record_bytes(old));
  if (is_ghost(old)) {
    --ghost_count();
  }
  if (is_shadowed(old)) {
    --shadow_count();
  }
  std::memmove(slot_address(i), slot_address(i + 1), (h.count - i - 1) * sizeof(Slot));
  --h.count;
  std::memset(slot_address(h.count), 0, sizeof(Slot));
  if (i <= h.last_insert && h.last_insert != kNoInsertYet) {
    --h.last_insert;  // from 0 this is kNoInsertYet: the run continues at position 0
  }
  if (h.count == 0) {
    h.head_skip = 0;
  }
  refresh_hints();
}

template <class Slot>
void NodeEditor<Slot>::note_insert(SlotIndex i) const noexcept {
  constexpr std::int16_t kRunMax = 0x7FFF;
  NodeHeader& h = header();
  const auto position = static_cast<std::uint16_t>(i);
  if (position == static_cast<std::uint16_t>(h.last_insert + 1)) {
    h.run = static_cast<std::int16_t>(h.run < 0 ? 1 : (h.run < kRunMax ? h.run + 1 : kRunMax));
  } else if (position == h.last_insert) {
    h.run = static_cast<std::int16_t>(h.run > 0 ? -1 : (h.run > -kRunMax ? h.run - 1 : -kRunMax));
  } else {
    h.run = 0;
  }
  h.last_insert = position;
}

template <class Slot>
void NodeEditor<Slot>::refresh_hints() const noexcept {
  NodeHeader& h = header();
  const SlotIndex count = h.count;
  if (count == 0) {
    std::memset(h.hint, 0, sizeof h.hint);
    return;
  }
  const std::byte* heads = slot_address(0) + offsetof(Slot, head);
  for (std::uint32_t i = 0; i < kHintCount; ++i) {
    std::memcpy(&h.hint[i], heads + hinted_slot(i, count) * sizeof(Slot), sizeof h.hint[i]);
  }
}

template <class Slot>
void NodeEditor<Slot>::refresh_heads() const noexcept {
  const SlotIndex count = header().count;
  set_head_skip(count == 0 ? 0 : skip_of_heads(suffix(0), suffix(count - 1)));
  refresh_hints();
}

/// The head_skip of a node with these first and last suffixes.
template <class Slot>
std::uint32_t NodeEditor<Slot>::skip_of_heads(ByteView first, ByteView last) const noexcept {
  if (header().count < kHeadSkipCountMin) {
    return 0;
  }
  const std::uint32_t common = common_prefix_length(first, last);
  return common < kHeadSkipMin ? 0 : common;
}

template <class Slot>
void NodeEditor<Slot>::set_head_skip(std::uint32_t skip) const noexcept {
  NodeHeader& h = header();
  h.head_skip = static_cast<std::uint16_t>(skip);
  for (SlotIndex i = 0; i < h.count; ++i) {
    Slot changed = slot(i);
    changed.head = head_after(suffix(i), skip);
    set_slot(i, changed);
  }
}

template class NodeEditor<LeafSlot>;
template class NodeEditor<InnerSlot>;

}  // namespace palimpsest::btree
