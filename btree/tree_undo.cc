#include "btree/tree_undo.h"

#include <cstring>

#include "base/check.h"
#include "btree/tree_record_format.h"

namespace palimpsest::btree {
namespace {

class Appender {
 public:
  explicit Appender(MutableBytes into) noexcept : at_(into.data()) {}

  void put(const void* bytes, std::size_t size) noexcept {
    if (size != 0) {
      std::memcpy(at_, bytes, size);
      at_ += size;
    }
  }
  void put(ByteView bytes) noexcept { put(bytes.data(), bytes.size()); }

 private:
  std::byte* at_;
};

/// What stands in an erase: the value that is given up with the record, if it is large.
ByteView given_up(const TreeRecord& insert) noexcept {
  return (insert.flags_after & kLargeValue) != 0 ? insert.after : ByteView();
}

}  // namespace

std::size_t inverse_bytes(const TreeRecord& record) noexcept {
  const std::size_t bytes = kRecordChangeBytes + record.key.size();
  switch (record.kind) {
    case TreeRecordKind::insert: return bytes + given_up(record).size();
    case TreeRecordKind::patch: return bytes + record.list.size();
    case TreeRecordKind::replace:
      return bytes + sizeof(ReplaceHeader) + record.before.size() + record.after.size();
    case TreeRecordKind::format_root: return sizeof(LeafChangeHeader);
    default: return bytes;
  }
}

void write_inverse(const TreeRecord& record, PageId page, SlotIndex slot,
                   MutableBytes into) noexcept {
  check(record.is_undoable(), "a record that is undone can be undone");
  debug_check(into.size() == inverse_bytes(record), "a compensation has the length announced");
  if (record.kind == TreeRecordKind::format_root) {
    const LeafChangeHeader header{TreeRecordKind::free_root, 0, 0, record.tree, record.page};
    std::memcpy(into.data(), &header, sizeof header);
    return;
  }
  RecordChangeHeader header{};
  header.kind = record.kind == TreeRecordKind::insert ? TreeRecordKind::erase : record.kind;
  header.bits = kCompensation;
  header.slot = static_cast<std::uint16_t>(slot);
  header.tree_id = record.tree;
  header.page_id = page;
  header.key_len = static_cast<std::uint16_t>(record.key.size());
  header.flags_before = static_cast<std::uint8_t>(record.flags_after);
  header.flags_after = static_cast<std::uint8_t>(record.flags_before);
  Appender appender(into);
  appender.put(&header, kRecordChangeBytes);
  appender.put(record.key);
  if (record.kind == TreeRecordKind::insert) {
    appender.put(given_up(record));
  } else if (record.kind == TreeRecordKind::patch) {
    for_each_patch_piece(record.list, [&](const PatchPiece& piece) {
      const PatchRun run{static_cast<std::uint16_t>(piece.offset),
                         static_cast<std::uint16_t>(piece.before.size())};
      appender.put(&run, sizeof run);
      appender.put(piece.after);
      appender.put(piece.before);
    });
  } else if (record.kind == TreeRecordKind::replace) {
    const ReplaceHeader replace{static_cast<std::uint16_t>(record.prefix_len),
                                static_cast<std::uint16_t>(record.suffix_len),
                                static_cast<std::uint16_t>(record.after.size()), 0};
    appender.put(&replace, sizeof replace);
    appender.put(record.after);
    appender.put(record.before);
  }
}

}  // namespace palimpsest::btree
