#include "btree/log/tree_undo.h"

#include "base/check.h"
#include "btree/log/tree_record_format.h"
#include "btree/log/tree_record_writer.h"
#include "wal/transaction_record.h"

namespace palimpsest::btree {
namespace {

static_assert(kShortBytesMax - 1 + kPageIdBytesMax - 1 <= wal::kCompensationGrowthMax,
              "a compensation is longer than its change only by larger numbers of slot and page");

RecordChangeHead inverse_head(const TreeRecord& record, PageId page, SlotIndex slot) noexcept {
  const bool is_insert = record.kind == TreeRecordKind::insert;
  return {.kind = is_insert ? TreeRecordKind::erase : record.kind,
          .compensation = true,
          .slot = static_cast<std::uint16_t>(slot),
          .tree_id = record.tree,
          .page_id = page,
          .key_len = static_cast<std::uint16_t>(record.key.size()),
          .flags_before = static_cast<std::uint8_t>(record.flags_after),
          .flags_after = static_cast<std::uint8_t>(record.flags_before)};
}

/// The content of an erase: the value that is freed with the record, if it is large.
ByteView given_up(const TreeRecord& insert) noexcept {
  return (insert.flags_after & kLargeValue) != 0 ? insert.after : ByteView();
}

std::size_t replace_bytes(const TreeRecord& record) noexcept {
  return varint_bytes(record.prefix_len) + varint_bytes(record.suffix_len) +
         varint_bytes(record.after.size()) + record.after.size() + record.before.size();
}

}  // namespace

std::size_t inverse_bytes(const TreeRecord& record, PageId page, SlotIndex slot) noexcept {
  if (record.kind == TreeRecordKind::format_root) {
    return sizeof(LeafChangeHeader);
  }
  const std::size_t bytes = record_head_bytes(inverse_head(record, page, slot)) + record.key.size();
  switch (record.kind) {
    case TreeRecordKind::insert: return bytes + given_up(record).size();
    case TreeRecordKind::patch: return bytes + record.list.size();
    case TreeRecordKind::replace: return bytes + replace_bytes(record);
    default: return bytes;
  }
}

void write_inverse(const TreeRecord& record, PageId page, SlotIndex slot,
                   MutableBytes into) noexcept {
  check(record.is_undoable(), "a record that is undone can be undone");
  TreeRecordWriter writer(into);
  if (record.kind == TreeRecordKind::format_root) {
    writer.put(
        LeafChangeHeader{kind_byte(TreeRecordKind::free_root), 0, 0, record.tree, record.page});
    return;
  }
  writer.put_head(inverse_head(record, page, slot));
  writer.put(record.key);
  if (record.kind == TreeRecordKind::insert) {
    writer.put(given_up(record));
  } else if (record.kind == TreeRecordKind::patch) {
    writer.put(record.list);
  } else if (record.kind == TreeRecordKind::replace) {
    writer.put_number(record.prefix_len);
    writer.put_number(record.suffix_len);
    writer.put_number(record.after.size());
    writer.put(record.after);
    writer.put(record.before);
  }
}

}  // namespace palimpsest::btree
