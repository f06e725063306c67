#include "btree/log/tree_redo.h"

#include <fmt/format.h>

#include <cstring>

#include "palimpsest/error.h"

#include "base/check.h"
#include "btree/log/moved_page.h"
#include "btree/log/tree_record.h"
#include "btree/node/bulk_erase.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_edit.h"
#include "btree/node/node_image.h"
#include "btree/node/node_print.h"
#include "btree/node/node_split.h"
#include "btree/node/resolve_records.h"
#include "btree/node/value_buffer.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {
namespace {

using Fault = std::optional<std::string>;

/// XORs `length` bytes of the difference into a value, word by word: runs are short.
void change_bytes(std::byte* into, const char* difference, std::size_t length) noexcept {
  const auto change = [&]<class Word>(Word, std::size_t at) {
    Word word = 0;
    Word other = 0;
    std::memcpy(&word, into + at, sizeof word);
    std::memcpy(&other, difference + at, sizeof other);
    word = static_cast<Word>(word ^ other);
    std::memcpy(into + at, &word, sizeof word);
  };
  std::size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    change(std::uint64_t{}, at);
  }
  for (; at < length; ++at) {
    change(std::uint8_t{}, at);
  }
}

/// The page and the record to be applied to it. Each kind has a fault_ function, which checks
/// everything, and an apply_ function, which relies on that check.
class PageRedo {
 public:
  PageRedo(const TreeRecord& record, PageId page, ConstBytes image, const SwipRule& swips) noexcept
      : record_(record),
        page_(page),
        page_size_(static_cast<std::uint32_t>(image.size())),
        leaf_(image.data(), page_size_),
        inner_(image.data(), page_size_),
        swips_(swips) {}

  [[nodiscard]] Fault fault() const;
  void apply(MutableBytes image) const noexcept;

  /// The record's effect on this page; nothing if it does not concern the page.
  [[nodiscard]] std::optional<PageEffect> effect() const {
    if (record_.is_record_change()) [[likely]] {
      return page_ == record_.page ? std::optional(PageEffect::change) : std::nullopt;
    }
    std::optional<PageEffect> found;
    visit_pages(record_, [&](PageId page, PageEffect effect) {
      if (page == page_) {
        found = effect;
      }
    });
    return found;
  }

 private:
  [[nodiscard]] Fault fault_of_identity() const;
  [[nodiscard]] Fault fault_of_record_change() const;
  [[nodiscard]] Fault fault_of_insert() const;
  [[nodiscard]] Fault fault_of_old_value(ByteView value) const;
  [[nodiscard]] Fault fault_of_patch(ByteView value) const;
  [[nodiscard]] Fault fault_of_replace(ByteView value) const;
  [[nodiscard]] Fault fault_of_shadow(ByteView value) const;
  [[nodiscard]] Fault fault_of_purge() const;
  [[nodiscard]] Fault fault_of_resolution() const;
  [[nodiscard]] Fault fault_of_bulk_erase() const;
  [[nodiscard]] Fault fault_of_left() const;
  [[nodiscard]] Fault fault_of_split_left() const;
  [[nodiscard]] Fault fault_of_merge_left() const;
  [[nodiscard]] Fault fault_of_parent() const;
  [[nodiscard]] Fault fault_of_graft() const;
  [[nodiscard]] Fault fault_of_new_page() const;

  void apply_record_change(LeafNode leaf) const noexcept;
  void apply_patch(LeafNode leaf) const noexcept;
  void patch(std::byte* value) const noexcept;
  void apply_replace(LeafNode leaf) const noexcept;
  /// The value after a replace, or a patch, that was checked.
  [[nodiscard]] ByteView replaced(ByteView old, ValueBuffer& memory) const noexcept;
  [[nodiscard]] ByteView patched(ByteView old, ValueBuffer& memory) const noexcept;
  /// Calls use(slots that are purged, or resolved).
  template <class Use>
  void with_slots(Use&& use) const noexcept;
  void apply_purge(LeafNode leaf) const noexcept;
  void apply_resolution(LeafNode leaf) const noexcept;
  void apply_bulk_erase(LeafNode leaf) const noexcept;
  void apply_left(MutableBytes image) const noexcept;
  void apply_parent(InnerNode parent) const noexcept;
  void apply_graft(InnerNode parent) const noexcept;
  void apply_new_page(MutableBytes image) const noexcept;

  [[nodiscard]] SplitPlan plan() const noexcept {
    SplitPlan plan;
    plan.cut = record_.cut;
    plan.new_goes_left = record_.new_goes_left;
    plan.separator.assign(record_.separator);
    return plan;
  }
  [[nodiscard]] ConstBytes image_of_page() const noexcept {
    const bool is_left = page_ == record_.page && record_.kind != TreeRecordKind::move;
    return is_left ? record_.left_image : record_.right_image;
  }

  const TreeRecord& record_;
  PageId page_;
  std::uint32_t page_size_;
  LeafView leaf_;
  InnerView inner_;
  const SwipRule& swips_;
};

Fault PageRedo::fault() const {
  const auto effect = this->effect();
  if (!effect) {
    return "it does not concern this page";
  }
  if (!is_redone(*effect)) {
    return std::nullopt;
  }
  if (*effect != PageEffect::change) {
    return fault_of_new_page();
  }
  if (Fault fault = fault_of_identity()) {
    return fault;
  }
  if (page_ == record_.above) {
    switch (record_.kind) {
      case TreeRecordKind::graft: return fault_of_graft();
      case TreeRecordKind::move: return fault_of_move(record_, leaf_);
      default: return fault_of_parent();
    }
  }
  switch (record_.kind) {
    case TreeRecordKind::purge: return fault_of_purge();
    case TreeRecordKind::resolve: return fault_of_resolution();
    case TreeRecordKind::bulk_erase: return fault_of_bulk_erase();
    case TreeRecordKind::split:
    case TreeRecordKind::merge: return fault_of_left();
    default: return fault_of_record_change();
  }
}

void PageRedo::apply(MutableBytes image) const noexcept {
  const PageEffect effect = *this->effect();
  if (!is_redone(effect)) {
    return;
  }
  if (effect != PageEffect::change) {
    apply_new_page(image);
  } else if (page_ == record_.above) {
    const InnerNode parent(image.data(), page_size_);
    switch (record_.kind) {
      case TreeRecordKind::graft: apply_graft(parent); break;
      case TreeRecordKind::move: apply_move(record_, image.data(), page_size_); break;
      default: apply_parent(parent);
    }
  } else if (record_.kind == TreeRecordKind::purge) {
    apply_purge({image.data(), page_size_});
  } else if (record_.kind == TreeRecordKind::resolve) {
    apply_resolution({image.data(), page_size_});
  } else if (record_.kind == TreeRecordKind::bulk_erase) {
    apply_bulk_erase({image.data(), page_size_});
  } else if (record_.is_record_change()) {
    apply_record_change({image.data(), page_size_});
  } else {
    apply_left(image);
  }
}

Fault PageRedo::fault_of_identity() const {
  const bool is_above = page_ == record_.above;
  const bool names_root = is_above && record_.moves_root();
  const TreeId tree = names_root ? record_.naming_tree : record_.tree;
  if (leaf_.page_id() != page_ || leaf_.tree_id() != tree) [[unlikely]] {
    return fmt::format("the page is page {} of tree {}, the record belongs to tree {}",
                       raw(leaf_.page_id()), raw(leaf_.tree_id()), raw(tree));
  }
  if (names_root) {
    return leaf_.is_leaf() ? std::nullopt : Fault("a root is named in a leaf");
  }
  const std::uint32_t level_below =
      record_.right_image.empty() ? 0 : image_level(record_.right_image);
  const std::uint32_t level = level_below + (is_above ? 1 : 0);
  if (leaf_.is_leaf() != (level == 0) || leaf_.level() != level) [[unlikely]] {
    return fmt::format("the page is on level {}, the record on level {}", leaf_.level(), level);
  }
  return std::nullopt;
}

// Changes of one record

Fault PageRedo::fault_of_record_change() const {
  if (record_.kind == TreeRecordKind::insert) {
    return fault_of_insert();
  }
  const SlotIndex slot = record_.slot;
  const SlotIndex count = leaf_.count();
  const LeafRecord found = slot < count ? leaf_.record(slot) : LeafRecord{};
  if (slot >= count || !leaf_.is_key_of(found, record_.key)) [[unlikely]] {
    return fmt::format("slot {} of {} does not hold the key \"{}\"", slot, count,
                       printable(record_.key));
  }
  const auto flags = static_cast<std::uint16_t>(found.flags & kRecordFlagsKnown);
  if (flags != record_.flags_before) [[unlikely]] {
    return fmt::format("slot {} has flags {:#x}, not {:#x}", slot, flags, record_.flags_before);
  }
  return fault_of_old_value(found.value);
}

Fault PageRedo::fault_of_insert() const {
  if (!leaf_.covers(record_.key)) {
    return fmt::format("the key \"{}\" is outside the fences", printable(record_.key));
  }
  const SearchResult at = leaf_.find(record_.key);
  if (at.found || at.slot != record_.slot) {
    return fmt::format("the key \"{}\" {} slot {}, not to slot {}", printable(record_.key),
                       at.found ? "is at" : "belongs to", at.slot, record_.slot);
  }
  if (!leaf_.can_insert(record_.key.size(), record_.after.size())) {
    return fmt::format("{} bytes do not fit", record_.key.size() + record_.after.size());
  }
  return std::nullopt;
}

Fault PageRedo::fault_of_old_value(ByteView value) const {
  switch (record_.kind) {
    case TreeRecordKind::patch: return fault_of_patch(value);
    case TreeRecordKind::replace: return fault_of_replace(value);
    case TreeRecordKind::erase:
      if ((record_.flags_before & kLargeValue) != 0 && value != record_.before) {
        return fmt::format("slot {} holds another large value", record_.slot);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

Fault PageRedo::fault_of_patch(ByteView value) const {
  if (record_.patch_end > value.size()) [[unlikely]] {
    return fmt::format("slot {}: a value of {} bytes is changed up to byte {}", record_.slot,
                       value.size(), record_.patch_end);
  }
  return fault_of_shadow(value);
}

// Checks the whole value, because the record alone has only a part of it.
Fault PageRedo::fault_of_shadow(ByteView value) const {
  if ((record_.flags_after & kShadowed) == 0) [[likely]] {
    return std::nullopt;
  }
  ValueBuffer memory;
  const ByteView changed =
      record_.kind == TreeRecordKind::patch ? patched(value, memory) : replaced(value, memory);
  if (!is_stored_value(changed, record_.flags_after)) {
    return fmt::format("slot {}: a value of {} bytes has no shadow", record_.slot, changed.size());
  }
  return std::nullopt;
}

Fault PageRedo::fault_of_replace(ByteView value) const {
  const std::size_t common = std::size_t{record_.prefix_len} + record_.suffix_len;
  if (value.size() != common + record_.before.size() ||
      value.substr(record_.prefix_len, record_.before.size()) != record_.before) {
    return fmt::format("slot {}: the value of {} bytes is not the one that is replaced",
                       record_.slot, value.size());
  }
  if (!leaf_.can_replace(record_.slot, common + record_.after.size())) {
    return fmt::format("a value of {} bytes does not fit", common + record_.after.size());
  }
  return fault_of_shadow(value);
}

void PageRedo::apply_record_change(LeafNode leaf) const noexcept {
  const SlotIndex slot = record_.slot;
  switch (record_.kind) {
    case TreeRecordKind::insert: {
      const bool fits = leaf.insert(slot, record_.key, record_.after, record_.flags_after);
      check(fits, "an insert that was judged fits");
      return;
    }
    case TreeRecordKind::erase: leaf.remove(slot); return;
    case TreeRecordKind::replace: apply_replace(leaf); break;
    case TreeRecordKind::patch: apply_patch(leaf); break;
    default: break;
  }
  // If the page has a mapping table, the caller keeps the two consistent.
  const std::uint16_t flags = leaf.record(slot).flags;
  const auto wanted = static_cast<std::uint16_t>(record_.flags_after | (flags & kInMemoryOnly));
  if (flags != wanted) {
    leaf.set_flags(slot, wanted);
  }
}

void PageRedo::apply_patch(LeafNode leaf) const noexcept {
  const ByteView value = leaf.record(record_.slot).value;
  patch(leaf.mutable_page() + (value.data() - as_view(leaf.page(), 0).data()));
}

void PageRedo::patch(std::byte* value) const noexcept {
  for_each_patch_run(record_.list, [&](const PatchRun& run) {
    change_bytes(value + run.offset, run.difference.data(), run.difference.size());
  });
}

void PageRedo::apply_replace(LeafNode leaf) const noexcept {
  ValueBuffer memory;
  const bool fits = leaf.replace_value(record_.slot, replaced(leaf.value(record_.slot), memory));
  check(fits, "a replacement that was judged fits");
}

ByteView PageRedo::replaced(ByteView old, ValueBuffer& memory) const noexcept {
  memory.assign_clamped(old.substr(0, record_.prefix_len));
  memory.append(record_.after);
  memory.append(old.substr(old.size() - record_.suffix_len));
  return memory.view();
}

ByteView PageRedo::patched(ByteView old, ValueBuffer& memory) const noexcept {
  memory.assign_clamped(old);
  patch(memory.mutable_bytes().data());
  return memory.view();
}

// Purges

Fault PageRedo::fault_of_purge() const {
  Fault fault;
  for_each_purged(record_.list, [&](SlotIndex slot, ByteView descriptor) {
    if (fault) {
      return;
    }
    if (slot >= leaf_.count() || (leaf_.flags(slot) & (kGhost | kDeleted)) != kGhost) {
      fault = fmt::format("slot {} of {} is not a ghost", slot, leaf_.count());
    } else if ((leaf_.flags(slot) & kLargeValue) != 0 ? leaf_.value(slot) != descriptor
                                                      : !descriptor.empty()) {
      fault = fmt::format("slot {} has another large value", slot);
    }
  });
  return fault;
}

template <class Use>
void PageRedo::with_slots(Use&& use) const noexcept {
  static_assert(sizeof(SlotIndex) <= sizeof(LeafSlot), "a page has room for all its slots");
  with_scratch_page(page_size_, [&](std::byte* scratch) {
    auto* const slots = reinterpret_cast<SlotIndex*>(scratch);
    std::size_t count = 0;
    for_each_purged(record_.list, [&](SlotIndex slot, ByteView) { slots[count++] = slot; });
    use(std::span<const SlotIndex>(slots, count));
  });
}

void PageRedo::apply_purge(LeafNode leaf) const noexcept {
  with_slots([&](std::span<const SlotIndex> slots) { leaf.purge_ghosts(slots); });
}

// Resolution

Fault PageRedo::fault_of_resolution() const {
  Fault fault;
  for_each_purged(record_.list, [&](SlotIndex slot, ByteView descriptor) {
    if (fault) {
      return;
    }
    if (slot >= leaf_.count() || !has_virtual_version(leaf_, slot)) {
      fault = fmt::format("slot {} of {} has no virtual version", slot, leaf_.count());
    } else if (freed_by_resolution(leaf_, slot, record_.resolution).value_or(ByteView()) !=
               descriptor) {
      fault = fmt::format("slot {} releases another large value", slot);
    }
  });
  return fault;
}

void PageRedo::apply_resolution(LeafNode leaf) const noexcept {
  with_slots([&](std::span<const SlotIndex> slots) {
    resolve_records(leaf, slots, record_.resolution, record_.epoch);
  });
}

// Bulk erasures

Fault PageRedo::fault_of_bulk_erase() const {
  if (leaf_.bulk_epoch() == kNoEpoch) {
    return "no bulk has changed it";
  }
  Fault fault;
  for_each_erased(record_.list, [&](SlotIndex slot) {
    if (!fault && (slot >= leaf_.count() || !can_be_bulk_erased(leaf_, slot))) {
      fault = fmt::format("slot {} of {} cannot be deleted by a bulk_erase", slot, leaf_.count());
    }
  });
  return fault;
}

void PageRedo::apply_bulk_erase(LeafNode leaf) const noexcept {
  for_each_erased(record_.list, [&](SlotIndex slot) { bulk_erase_record(leaf, slot); });
}

// Changes of the structure

Fault PageRedo::fault_of_left() const {
  return record_.kind == TreeRecordKind::split ? fault_of_split_left() : fault_of_merge_left();
}

Fault PageRedo::fault_of_split_left() const {
  const bool can = leaf_.is_leaf() ? can_split(leaf_, plan()) : can_split(inner_, plan());
  if (!can) {
    return fmt::format("it cannot be split at {} by \"{}\"", record_.cut,
                       printable(record_.separator));
  }
  return std::nullopt;
}

Fault PageRedo::fault_of_merge_left() const {
  Fault fault;
  with_scratch_page(page_size_, [&](std::byte* scratch) {
    fault = read_node_image(record_.right_image, record_.right, record_.tree, swips_,
                            {scratch, page_size_});
    if (fault) {
      return;
    }
    const NodeView right(scratch, page_size_);
    const bool fits = leaf_.is_leaf() ? can_merge(leaf_, LeafView(scratch, page_size_))
                                      : can_merge(inner_, InnerView(scratch, page_size_));
    if (leaf_.upper_is_infinite() || leaf_.upper_fence() != right.lower_fence() || !fits) {
      fault = "the node merged into it is not its neighbour, or does not fit";
    }
  });
  return fault;
}

void PageRedo::apply_left(MutableBytes image) const noexcept {
  const LeafNode leaf(image.data(), page_size_);
  const InnerNode inner(image.data(), page_size_);
  if (record_.kind == TreeRecordKind::split) {
    leaf.is_leaf() ? keep_left(leaf, plan()) : keep_left(inner, plan());
    return;
  }
  with_scratch_page(page_size_, [&](std::byte* scratch) {
    const Fault fault = read_node_image(record_.right_image, record_.right, record_.tree, swips_,
                                        {scratch, page_size_});
    check(!fault, "a node that was judged can be read");
    leaf.is_leaf() ? merge_into_left(leaf, LeafView(scratch, page_size_))
                   : merge_into_left(inner, InnerView(scratch, page_size_));
  });
  LeafNode(image.data(), page_size_).set_bulk_epoch(record_.epoch);
}

Fault PageRedo::fault_of_parent() const {
  const bool splits = record_.kind == TreeRecordKind::split;
  const ByteView separator = splits ? record_.separator : image_lower_fence(record_.right_image);
  const SearchResult at = inner_.find(separator);
  if (at.slot != record_.slot || at.found == splits || !inner_.covers(separator) ||
      separator == inner_.lower_fence()) {
    return fmt::format("the separator \"{}\" does not belong to slot {}", printable(separator),
                       record_.slot);
  }
  if (inner_.swip_at(at.slot) != raw(record_.page) ||
      (!splits && inner_.swip_at(at.slot + 1) != raw(record_.right))) {
    return fmt::format("child {} is not page {}", at.slot, raw(record_.page));
  }
  if (splits && !inner_.can_insert(separator.size())) {
    return fmt::format("a separator of {} bytes does not fit", separator.size());
  }
  return std::nullopt;
}

void PageRedo::apply_parent(InnerNode parent) const noexcept {
  if (record_.kind == TreeRecordKind::merge) {
    parent.remove(record_.slot);
    return;
  }
  const bool fits = parent.insert(record_.slot, record_.separator, raw(record_.right));
  check(fits, "a separator that was judged fits");
}

// Leaves grafted at the end: the page is the parent of the last one.

Fault PageRedo::fault_of_graft() const {
  if (!inner_.upper_is_infinite() || inner_.count() != record_.slot ||
      inner_.swip_at(record_.slot) != raw(record_.page)) {
    return fmt::format("page {} is not its last child, behind {} separators", raw(record_.page),
                       record_.slot);
  }
  std::size_t bytes = 0;
  std::optional<ByteView> first;
  for_each_grafted(record_.list, [&](PageId, ByteView separator) {
    bytes += sizeof(InnerSlot) + separator.size() - inner_.header().prefix_len;
    first = first ? first : separator;
  });
  if (*first <= inner_.lower_fence() || inner_.route(*first) != record_.slot ||
      inner_.find(*first).found) {
    return fmt::format("the separator \"{}\" is not above the existing ones", printable(*first));
  }
  if (bytes > inner_.free_bytes()) {
    return fmt::format("separators of {} bytes do not fit", bytes);
  }
  return std::nullopt;
}

void PageRedo::apply_graft(InnerNode parent) const noexcept {
  for_each_grafted(record_.list, [&](PageId page, ByteView separator) {
    parent.set_swip(parent.count(), raw(page));
    const bool fits = parent.insert(parent.count(), separator, raw(record_.page));
    check(fits, "separators that were judged fit");
  });
}

Fault PageRedo::fault_of_new_page() const {
  const bool is_root_of_two = record_.kind == TreeRecordKind::split_root && page_ == record_.above;
  if (record_.kind == TreeRecordKind::format_root || record_.kind == TreeRecordKind::graft ||
      is_root_of_two) {
    return std::nullopt;
  }
  Fault fault;
  with_scratch_page(page_size_, [&](std::byte* scratch) {
    fault = read_node_image(image_of_page(), page_, record_.tree, swips_, {scratch, page_size_});
    const NodeView made(scratch, page_size_);
    if (!fault && record_.kind == TreeRecordKind::merge_root &&
        (!made.lower_fence().empty() || !made.upper_is_infinite())) {
      fault = "the root's image has fences";
    }
  });
  return fault;
}

void PageRedo::apply_new_page(MutableBytes image) const noexcept {
  if (record_.kind == TreeRecordKind::format_root) {
    LeafNode(image.data(), page_size_).init(page_, record_.tree, ByteView(), std::nullopt);
  } else if (record_.kind == TreeRecordKind::graft) {
    ByteView lower;
    for_each_grafted(record_.list, [&](PageId, ByteView separator) { lower = separator; });
    LeafNode(image.data(), page_size_).init(page_, record_.tree, lower, std::nullopt);
  } else if (record_.kind == TreeRecordKind::split_root && page_ == record_.above) {
    InnerNode root(image.data(), page_size_);
    root.init(page_, record_.tree, image_level(record_.right_image) + 1, ByteView(), std::nullopt,
              raw(record_.page));
    const bool fits = root.insert(0, record_.separator, raw(record_.right));
    check(fits, "an empty root takes any separator");
  } else {
    const Fault fault = read_node_image(image_of_page(), page_, record_.tree, swips_, image);
    check(!fault, "a node that was judged can be read");
    LeafNode(image.data(), page_size_).set_bulk_epoch(record_.epoch);
  }
}

Fault fault_of(ConstBytes payload, PageId page, ConstBytes image, const SwipRule& swips,
               TreeRecord& record) {
  if (Fault fault = parse_tree_record(payload, static_cast<std::uint32_t>(image.size()), record))
      [[unlikely]] {
    return fault;
  }
  return PageRedo(record, page, image, swips).fault();
}

}  // namespace

void redo(ConstBytes payload, PageId page, MutableBytes image, Gsn gsn, const SwipRule& swips) {
  TreeRecord record;
  if (const Fault fault = fault_of(payload, page, image, swips, record)) [[unlikely]] {
    throw Error(ErrorCode::corruption,
                fmt::format("page {}: a log record of kind {} cannot be applied: {}", raw(page),
                            name_of(record.kind), *fault));
  }
  const PageRedo redo(record, page, image, swips);
  redo.apply(image);
  if (is_redone(*redo.effect())) {
    std::memcpy(image.data() + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
  }
}

std::optional<std::string> redo_fault(ConstBytes payload, PageId page, ConstBytes image,
                                      const SwipRule& swips) {
  TreeRecord record;
  return fault_of(payload, page, image, swips, record);
}

}  // namespace palimpsest::btree
