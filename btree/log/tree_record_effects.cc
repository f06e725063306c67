// The effects of a tree's log record, by kind, on pages and large values (tree_record.h).
#include <cstring>

#include "btree/log/tree_record.h"

namespace palimpsest::btree {

std::string_view name_of(TreeRecordKind kind) noexcept {
  switch (kind) {
    case TreeRecordKind::insert: return "insert";
    case TreeRecordKind::erase: return "erase";
    case TreeRecordKind::patch: return "patch";
    case TreeRecordKind::replace: return "replace";
    case TreeRecordKind::mark: return "mark";
    case TreeRecordKind::format_root: return "format_root";
    case TreeRecordKind::split: return "split";
    case TreeRecordKind::split_root: return "split_root";
    case TreeRecordKind::merge: return "merge";
    case TreeRecordKind::merge_root: return "merge_root";
    case TreeRecordKind::purge: return "purge";
    case TreeRecordKind::free_root: return "free_root";
    case TreeRecordKind::resolve: return "resolve";
    case TreeRecordKind::graft: return "graft";
    case TreeRecordKind::bulk_erase: return "bulk_erase";
    case TreeRecordKind::move: return "move";
  }
  return "unknown";
}

std::optional<RecordSummary> summarize_other(ConstBytes payload) noexcept {
  LeafChangeHeader header;
  if (payload.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, payload.data(), sizeof header);
  const TreeRecordKind kind = kind_in(header.kind);
  const bool formats = kind == TreeRecordKind::format_root;
  const bool changes_one = kind == TreeRecordKind::purge || kind == TreeRecordKind::resolve ||
                           kind == TreeRecordKind::bulk_erase;
  return RecordSummary{.is_record_change = false,
                       .is_undoable = formats,
                       .is_compensation = kind == TreeRecordKind::free_root,
                       .names_large_value = false,
                       .only_page = formats || changes_one ? header.page_id : kNoPage,
                       .formats = formats};
}

void visit_pages(const TreeRecord& record, FunctionRef<void(PageId, PageEffect)> visit) {
  switch (record.kind) {
    case TreeRecordKind::format_root: visit(record.page, PageEffect::allocate); break;
    case TreeRecordKind::free_root: visit(record.page, PageEffect::free); break;
    case TreeRecordKind::split:
      visit(record.page, PageEffect::change);
      visit(record.right, PageEffect::allocate);
      visit(record.above, PageEffect::change);
      break;
    case TreeRecordKind::split_root:
      visit(record.page, PageEffect::allocate);
      visit(record.right, PageEffect::allocate);
      visit(record.above, PageEffect::rewrite);
      break;
    case TreeRecordKind::merge:
      visit(record.page, PageEffect::change);
      visit(record.right, PageEffect::free);
      visit(record.above, PageEffect::change);
      break;
    case TreeRecordKind::merge_root:
      visit(record.page, PageEffect::free);
      visit(record.right, PageEffect::free);
      visit(record.above, PageEffect::rewrite);
      break;
    case TreeRecordKind::move:
      visit(record.page, PageEffect::allocate);
      visit(record.right, PageEffect::free);
      visit(record.above, PageEffect::change);
      break;
    case TreeRecordKind::graft:
      visit(record.page, PageEffect::rewrite);
      visit(record.above, PageEffect::change);
      for_each_grafted(record.list, [&](PageId page, ByteView) { visit(page, PageEffect::adopt); });
      break;
    default: visit(record.page, PageEffect::change);
  }
}

void visit_extents(const TreeRecord& record, std::uint32_t page_size,
                   FunctionRef<void(const LargeValueDescriptor&, ExtentEffect)> visit) {
  const auto named = [&](ByteView descriptor, ExtentEffect effect) {
    visit(LargeValueDescriptor::decode(descriptor, page_size), effect);
  };
  if (record.kind == TreeRecordKind::purge || record.kind == TreeRecordKind::resolve) {
    for_each_purged(record.list, [&](SlotIndex, ByteView descriptor) {
      if (!descriptor.empty()) {
        named(descriptor, ExtentEffect::free);
      }
    });
    return;
  }
  if (!record.is_record_change() || record.kind == TreeRecordKind::mark) {
    return;
  }
  if (((record.flags_before | record.flags_after) & kNamesLarge) == 0) {
    return;
  }
  const RecordState before{record.before, record.flags_before};
  const RecordState after{record.after, record.flags_after};
  if (const auto descriptor = large_only_in(before, after)) {
    named(*descriptor, ExtentEffect::free);
  }
  if (const auto descriptor = large_only_in(after, before)) {
    named(*descriptor, ExtentEffect::allocate);
  }
}

}  // namespace palimpsest::btree
