#include "btree/tree_record_encode.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace palimpsest::btree {
namespace {

/// Unchanged bytes between two changed ones from which on two runs are shorter than one: a run's
/// header has four bytes, an unchanged byte in a run stands there twice.
constexpr std::size_t kRunGapMin = sizeof(PatchRun) / 2 + 1;

/// Writes a payload from front to back, all of it.
class Writer {
 public:
  explicit Writer(MutableBytes into) noexcept : at_(into.data()), end_(at_ + into.size()) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { debug_check(at_ == end_, "a payload has the length that was announced"); }

  template <class T>
  void put(const T& value, std::size_t bytes = sizeof(T)) noexcept {
    std::memcpy(at_, &value, bytes);
    at_ += bytes;
  }
  void put(ByteView bytes) noexcept {
    if (!bytes.empty()) {
      std::memcpy(at_, bytes.data(), bytes.size());
      at_ += bytes.size();
    }
  }
  void put(const NodeView& node, const SwipNames& swips) noexcept {
    write_node_image(node, swips, at_);
    at_ += node_image_bytes(node);
  }

 private:
  std::byte* at_;
  std::byte* end_;
};

template <class T>
std::uint16_t short_of(T number) noexcept {
  return static_cast<std::uint16_t>(number);
}

void put_record_change(Writer& writer, TreeRecordKind kind, const RecordPlace& at,
                       std::uint16_t flags_before, std::uint16_t flags_after) noexcept {
  RecordChangeHeader header{};
  header.kind = kind;
  header.slot = short_of(at.slot);
  header.tree_id = at.tree;
  header.page_id = at.page;
  header.key_len = short_of(at.key.size());
  header.flags_before = static_cast<std::uint8_t>(flags_before);
  header.flags_after = static_cast<std::uint8_t>(flags_after);
  writer.put(header, kRecordChangeBytes);
  writer.put(at.key);
}

/// Calls use(offset, length) for each run of bytes in which two values of one length differ.
template <class Use>
void for_each_difference(ByteView before, ByteView after, Use use) noexcept {
  std::size_t begin = common_prefix_length(before, after);
  while (begin < before.size()) {
    std::size_t end = begin + 1;  // behind the last byte that differs
    std::size_t next = end;
    for (; next < before.size() && next - end < kRunGapMin; ++next) {
      end = before[next] != after[next] ? next + 1 : end;
    }
    use(begin, end - begin);
    begin = end + common_prefix_length(before.substr(end), after.substr(end));
  }
}

bool any_large(const LoggedUpdate& change) noexcept {
  return ((change.before.flags | change.after.flags) & kLargeValue) != 0;
}

bool is_patch(const LoggedUpdate& change) noexcept {
  return change.before.value.size() == change.after.value.size() && !any_large(change);
}

/// What a replace leaves out.
struct Common {
  std::size_t prefix = 0;
  std::size_t suffix = 0;
};

Common common_of(const LoggedUpdate& change) noexcept {
  if (any_large(change)) {
    return {};
  }
  const ByteView before = change.before.value;
  const ByteView after = change.after.value;
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
                                       PageId above) noexcept {
  StructureChangeHeader header{};
  header.kind = kind;
  header.tree_id = tree;
  header.left = left;
  header.right = right;
  header.above = above;
  return header;
}

}  // namespace

std::size_t LoggedInsert::encoded_bytes() const noexcept {
  return kRecordChangeBytes + at.key.size() + after.value.size();
}

void LoggedInsert::encode(MutableBytes into) const noexcept {
  Writer writer(into);
  put_record_change(writer, TreeRecordKind::insert, at, 0, after.flags);
  writer.put(after.value);
}

std::size_t LoggedUpdate::encoded_bytes() const noexcept {
  std::size_t bytes = kRecordChangeBytes + at.key.size();
  if (is_patch(*this)) {
    for_each_difference(before.value, after.value,
                        [&](std::size_t, std::size_t len) { bytes += sizeof(PatchRun) + 2 * len; });
    return bytes;
  }
  const Common common = common_of(*this);
  return bytes + sizeof(ReplaceHeader) + between(before.value, common).size() +
         between(after.value, common).size();
}

void LoggedUpdate::encode(MutableBytes into) const noexcept {
  Writer writer(into);
  if (is_patch(*this)) {
    put_record_change(writer, TreeRecordKind::patch, at, before.flags, after.flags);
    for_each_difference(before.value, after.value, [&](std::size_t offset, std::size_t len) {
      writer.put(PatchRun{short_of(offset), short_of(len)});
      writer.put(before.value.substr(offset, len));
      writer.put(after.value.substr(offset, len));
    });
    return;
  }
  const Common common = common_of(*this);
  const ByteView old = between(before.value, common);
  put_record_change(writer, TreeRecordKind::replace, at, before.flags, after.flags);
  writer.put(
      ReplaceHeader{short_of(common.prefix), short_of(common.suffix), short_of(old.size()), 0});
  writer.put(old);
  writer.put(between(after.value, common));
}

std::size_t LoggedMark::encoded_bytes() const noexcept {
  return kRecordChangeBytes + at.key.size();
}

void LoggedMark::encode(MutableBytes into) const noexcept {
  Writer writer(into);
  put_record_change(writer, TreeRecordKind::mark, at, flags_before,
                    static_cast<std::uint16_t>(flags_before ^ kGhost));
}

std::size_t LoggedPurge::encoded_bytes() const noexcept {
  std::size_t bytes = sizeof(LeafChangeHeader) + slots.size() * sizeof(PurgeEntry);
  for (const SlotIndex slot : slots) {
    bytes += descriptor_of(leaf, slot).size();
  }
  return bytes;
}

void LoggedPurge::encode(MutableBytes into) const noexcept {
  debug_check(!slots.empty(), "a purge that is logged removes something");
  Writer writer(into);
  writer.put(LeafChangeHeader{TreeRecordKind::purge, 0, short_of(slots.size()), leaf.tree_id(),
                              leaf.page_id()});
  for (const SlotIndex slot : slots) {
    const ByteView descriptor = descriptor_of(leaf, slot);
    writer.put(PurgeEntry{short_of(slot), short_of(descriptor.size())});
    writer.put(descriptor);
  }
}

std::size_t LoggedFormatRoot::encoded_bytes() noexcept {
  return sizeof(LeafChangeHeader);
}

void LoggedFormatRoot::encode(MutableBytes into) const noexcept {
  Writer(into).put(LeafChangeHeader{TreeRecordKind::format_root, 0, 0, tree, root});
}

std::size_t LoggedSplit::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + plan.separator.size() + node_image_bytes(right);
}

void LoggedSplit::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header =
      structure_change(TreeRecordKind::split, right.tree_id(), left, right.page_id(), parent);
  header.bits = plan.new_goes_left ? kNewGoesLeft : 0;
  header.slot = short_of(parent_slot);
  header.cut = short_of(plan.cut);
  header.separator_len = short_of(plan.separator.size());
  Writer writer(into);
  writer.put(header);
  writer.put(plan.separator.view());
  writer.put(right, swips);
}

std::size_t LoggedRootSplit::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + plan.separator.size() + node_image_bytes(left) +
         node_image_bytes(right);
}

void LoggedRootSplit::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header = structure_change(TreeRecordKind::split_root, right.tree_id(),
                                                  left.page_id(), right.page_id(), root);
  header.separator_len = short_of(plan.separator.size());
  header.left_bytes = static_cast<std::uint32_t>(node_image_bytes(left));
  Writer writer(into);
  writer.put(header);
  writer.put(plan.separator.view());
  writer.put(left, swips);
  writer.put(right, swips);
}

std::size_t LoggedMerge::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + node_image_bytes(right);
}

void LoggedMerge::encode(MutableBytes into) const noexcept {
  StructureChangeHeader header =
      structure_change(TreeRecordKind::merge, right.tree_id(), left, right.page_id(), parent);
  header.slot = short_of(parent_slot);
  Writer writer(into);
  writer.put(header);
  writer.put(right, swips);
}

std::size_t LoggedRootMerge::encoded_bytes() const noexcept {
  return sizeof(StructureChangeHeader) + node_image_bytes(root);
}

void LoggedRootMerge::encode(MutableBytes into) const noexcept {
  Writer writer(into);
  writer.put(
      structure_change(TreeRecordKind::merge_root, root.tree_id(), left, right, root.page_id()));
  writer.put(root, swips);
}

}  // namespace palimpsest::btree
