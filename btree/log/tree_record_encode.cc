#include "btree/log/tree_record_encode.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "btree/log/tree_record_writer.h"
#include "btree/node/resolve_records.h"
#include "btree/node/value_difference.h"

namespace palimpsest::btree {
namespace {

template <class T>
std::uint16_t short_of(T number) noexcept {
  return static_cast<std::uint16_t>(number);
}

RecordChangeHead head_of(TreeRecordKind kind, const RecordPlace& at, std::uint16_t flags_before,
                         std::uint16_t flags_after) noexcept {
  return {.kind = kind,
          .compensation = false,
          .slot = short_of(at.slot),
          .tree_id = at.tree,
          .page_id = at.page,
          .key_len = short_of(at.key.size()),
          .flags_before = static_cast<std::uint8_t>(flags_before),
          .flags_after = static_cast<std::uint8_t>(flags_after)};
}

/// Bytes of head and key.
std::size_t place_bytes(const RecordChangeHead& head) noexcept {
  return record_head_bytes(head) + head.key_len;
}

void put_place(TreeRecordWriter& writer, const RecordChangeHead& head, ByteView key) noexcept {
  writer.put_head(head);
  writer.put(key);
}

void put_image(TreeRecordWriter& writer, const NodeView& node, const SwipNames& swips) noexcept {
  write_node_image(node, swips, writer.skip(node_image_bytes(node)));
}

bool any_large(const RecordState& before, const RecordState& after) noexcept {
  return ((before.flags | after.flags) & kNamesLarge) != 0;
}

/// Whether the value keeps its length, and lies in its leaf.
bool may_be_patch(const RecordState& before, const RecordState& after) noexcept {
  return before.value.size() == after.value.size() && !any_large(before, after);
}

/// The common bytes that a replace leaves out.
struct Common {
  std::size_t prefix = 0;
  std::size_t suffix = 0;
};

Common common_of(const RecordState& state_before, const RecordState& state_after) noexcept {
  if (any_large(state_before, state_after)) {
    return {};
  }
  const ByteView before = state_before.value;
  const ByteView after = state_after.value;
  Common common{.prefix = common_prefix_length(before, after), .suffix = 0};
  const std::size_t limit = std::min(before.size(), after.size()) - common.prefix;
  while (common.suffix < limit &&
         before[before.size() - 1 - common.suffix] == after[after.size() - 1 - common.suffix]) {
    ++common.suffix;
  }
  return common;
}

ByteView between(ByteView value, const Common& common) noexcept {
  return value.substr(common.prefix, value.size() - common.prefix - common.suffix);
}

ByteView descriptor_of(const LeafView& leaf, SlotIndex slot) noexcept {
  return (leaf.flags(slot) & kLargeValue) != 0 ? leaf.value(slot) : ByteView();
}

StructureChangeHeader structure_change(TreeRecordKind kind, TreeId tree, PageId left, PageId right,
                                       PageId above, BulkEpoch epoch) noexcept {
  StructureChangeHeader header{};
  header.epoch = epoch;
  header.kind = kind_byte(kind);
  header.tree_id = tree;
  header.left = left;
  header.right = right;
  header.above = above;
  return header;
}

}  // namespace

RecordChangeHead LoggedInsert::head() const noexcept {
  return head_of(TreeRecordKind::insert, at, 0, after.flags);
}

std::size_t LoggedInsert::encoded_bytes() const noexcept {
  return place_bytes(head()) + after.value.size();
}

void LoggedInsert::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  put_place(writer, head(), at.key);
  writer.put(after.value);
}

LoggedUpdate::LoggedUpdate(const RecordPlace& at, const RecordState& before,
                           const RecordState& after, const BytesRange& in) noexcept
    : at_(at),
      before_(before),
      after_(after),
      in_(in),
      head_(head_of(may_be_patch(before, after) ? TreeRecordKind::patch : TreeRecordKind::replace,
                    at, before.flags, after.flags)),
      bytes_(place_bytes(head_) + (is_patch() ? patch_bytes() : replace_bytes())) {}

template <class Use>
void LoggedUpdate::for_each_difference_from(std::size_t from, Use use) const noexcept {
  for_each_difference(before_.value.substr(0, in_.end), after_.value.substr(0, in_.end), from, use);
}

std::size_t LoggedUpdate::patch_bytes() noexcept {
  std::size_t bytes = 0;
  std::size_t end = 0;
  for_each_difference_from(in_.begin, [&](std::size_t offset, std::size_t len) {
    bytes += varint_bytes(offset - end) + varint_bytes(len) + len;
    before_runs_bytes_ += 2 * sizeof(std::uint16_t) + len;
    end = offset + len;
    if (run_count_ < kRunsKept) {
      runs_[run_count_] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(len)};
    }
    ++run_count_;
  });
  return bytes;
}

std::size_t LoggedUpdate::replace_bytes() const noexcept {
  const Common common = common_of(before_, after_);
  const std::size_t old_bytes = between(before_.value, common).size();
  return varint_bytes(common.prefix) + varint_bytes(common.suffix) + varint_bytes(old_bytes) +
         old_bytes + between(after_.value, common).size();
}

void LoggedUpdate::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  put_place(writer, head_, at_.key);
  is_patch() ? put_patch(writer) : put_replace(writer);
}

// Calls use(offset, length) for each run.
template <class Use>
void LoggedUpdate::for_each_run(Use use) const noexcept {
  for (const Run& run : std::span(runs_).first(std::min(run_count_, kRunsKept))) {
    use(run.offset, run.len);
  }
  if (run_count_ > kRunsKept) [[unlikely]] {
    const Run& last = runs_.back();
    for_each_difference_from(last.offset + last.len, use);
  }
}

void LoggedUpdate::put_patch(TreeRecordWriter& writer) const noexcept {
  std::size_t end = 0;
  for_each_run([&](std::size_t offset, std::size_t len) {
    writer.put_number(offset - end);
    writer.put_number(len);
    end = offset + len;
    put_difference(before_.value.substr(offset, len), after_.value.data() + offset,
                   writer.skip(len));
  });
}

void LoggedUpdate::put_before_runs(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  for_each_run([&](std::size_t offset, std::size_t len) {
    writer.put(short_of(offset));
    writer.put(short_of(len));
    writer.put(before_.value.substr(offset, len));
  });
}

void LoggedUpdate::put_replace(TreeRecordWriter& writer) const noexcept {
  const Common common = common_of(before_, after_);
  const ByteView old = between(before_.value, common);
  writer.put_number(common.prefix);
  writer.put_number(common.suffix);
  writer.put_number(old.size());
  writer.put(old);
  writer.put(between(after_.value, common));
}

RecordChangeHead LoggedMark::head() const noexcept {
  return head_of(TreeRecordKind::mark, at, flags_before, flags_after);
}

std::size_t LoggedMark::encoded_bytes() const noexcept {
  return place_bytes(head());
}

void LoggedMark::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  put_place(writer, head(), at.key);
}

std::size_t LoggedPurge::encoded_bytes() const noexcept {
  std::size_t bytes = sizeof(LeafChangeHeader) + slots.size() * sizeof(PurgeEntry);
  for (const SlotIndex slot : slots) {
    bytes += descriptor_of(leaf, slot).size();
  }
  return bytes;
}

void LoggedPurge::encode(MutableBytes into) const noexcept {
  PALIMPSEST_DEBUG_CHECK(!slots.empty(), "a logged purge removes at least one record");
  TreeRecordWriter writer(into);
  writer.put(LeafChangeHeader{kind_byte(TreeRecordKind::purge), 0, short_of(slots.size()),
                              leaf.tree_id(), leaf.page_id()});
  for (const SlotIndex slot : slots) {
    const ByteView descriptor = descriptor_of(leaf, slot);
    writer.put(PurgeEntry{short_of(slot), short_of(descriptor.size())});
    writer.put(descriptor);
  }
}

std::size_t LoggedResolve::encoded_bytes() const noexcept {
  std::size_t bytes =
      sizeof(LeafChangeHeader) + sizeof(BulkEpoch) + slots.size() * sizeof(PurgeEntry);
  for (const SlotIndex slot : slots) {
    bytes += given_up_of(slot).size();
  }
  return bytes;
}

void LoggedResolve::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  writer.put(LeafChangeHeader{kind_byte(TreeRecordKind::resolve), static_cast<std::uint8_t>(how),
                              short_of(slots.size()), leaf.tree_id(), leaf.page_id()});
  writer.put(epoch);
  for (const SlotIndex slot : slots) {
    const ByteView descriptor = given_up_of(slot);
    writer.put(PurgeEntry{short_of(slot), short_of(descriptor.size())});
    writer.put(descriptor);
  }
}

ByteView LoggedResolve::given_up_of(SlotIndex slot) const noexcept {
  return freed_by_resolution(leaf, slot, how).value_or(ByteView());
}

std::size_t LoggedBulkErase::encoded_bytes() const noexcept {
  return sizeof(LeafChangeHeader) + runs.size_bytes();
}

void LoggedBulkErase::encode(MutableBytes into) const noexcept {
  PALIMPSEST_DEBUG_CHECK(!runs.empty(), "a logged bulk_erase deletes at least one record");
  TreeRecordWriter writer(into);
  writer.put(LeafChangeHeader{kind_byte(TreeRecordKind::bulk_erase), 0, short_of(runs.size()),
                              leaf.tree_id(), leaf.page_id()});
  for (const SlotRun& run : runs) {
    writer.put(run);
  }
}

std::size_t LoggedFormatRoot::encoded_bytes() noexcept {
  return sizeof(LeafChangeHeader);
}

void LoggedFormatRoot::encode(MutableBytes into) const noexcept {
  TreeRecordWriter(into).put(
      LeafChangeHeader{kind_byte(TreeRecordKind::format_root), 0, 0, tree, root});
}

std::size_t LoggedSplit::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + plan.separator.size() + node_image_bytes(right);
}

void LoggedSplit::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header = structure_change(TreeRecordKind::split, right.tree_id(), left,
                                                  right.page_id(), parent, right.bulk_epoch());
  header.kind = kind_byte(TreeRecordKind::split, plan.new_goes_left ? kNewGoesLeft : 0);
  header.slot = short_of(parent_slot);
  header.cut = short_of(plan.cut);
  header.separator_len = short_of(plan.separator.size());
  TreeRecordWriter writer(into);
  writer.put(header);
  writer.put(plan.separator.view());
  put_image(writer, right, swips);
}

std::size_t LoggedRootSplit::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + plan.separator.size() + node_image_bytes(left) +
         node_image_bytes(right);
}

void LoggedRootSplit::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header =
      structure_change(TreeRecordKind::split_root, right.tree_id(), left.page_id(), right.page_id(),
                       root, right.bulk_epoch());
  header.separator_len = short_of(plan.separator.size());
  header.left_bytes = static_cast<std::uint32_t>(node_image_bytes(left));
  TreeRecordWriter writer(into);
  writer.put(header);
  writer.put(plan.separator.view());
  put_image(writer, left, swips);
  put_image(writer, right, swips);
}

std::size_t LoggedMerge::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + node_image_bytes(right);
}

void LoggedMerge::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header = structure_change(TreeRecordKind::merge, right.tree_id(), left,
                                                  right.page_id(), parent, epoch);
  header.slot = short_of(parent_slot);
  TreeRecordWriter writer(into);
  writer.put(header);
  put_image(writer, right, swips);
}

std::size_t LoggedRootMerge::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + node_image_bytes(root);
}

void LoggedRootMerge::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  writer.put(structure_change(TreeRecordKind::merge_root, root.tree_id(), left, right,
                              root.page_id(), root.bulk_epoch()));
  put_image(writer, root, swips);
}

std::size_t LoggedMove::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + node_image_bytes(node);
}

void LoggedMove::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header = structure_change(TreeRecordKind::move, node.tree_id(),
                                                  node.page_id(), from, parent, node.bulk_epoch());
  header.slot = short_of(child);
  header.kind = kind_byte(TreeRecordKind::move, naming_tree == kNoTree ? 0 : kMovesRoot);
  header.left_bytes = raw(naming_tree);
  TreeRecordWriter writer(into);
  writer.put(header);
  put_image(writer, node, swips);
}

std::size_t LoggedGraft::encoded_bytes() const noexcept {
  std::size_t bytes = sizeof(GraftHeader);
  for (const FreshLeaf& leaf : leaves) {
    bytes += varint_bytes(raw(leaf.page)) + varint_bytes(leaf.upper.size()) + leaf.upper.size();
  }
  return bytes;
}

void LoggedGraft::encode(MutableBytes into) const noexcept {
  TreeRecordWriter writer(into);
  writer.put(GraftHeader{kind_byte(TreeRecordKind::graft), 0, short_of(parent_slot), tree, last,
                         parent, leaves.size()});
  for (const FreshLeaf& leaf : leaves) {
    writer.put_number(raw(leaf.page));
    writer.put_number(leaf.upper.size());
    writer.put(leaf.upper);
  }
}

}  // namespace palimpsest::btree
