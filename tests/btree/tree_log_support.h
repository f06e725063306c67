// Log records and pages for the tests of redo and undo.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "btree/log/tree_record.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log/tree_record_print.h"
#include "btree/log/tree_redo.h"
#include "btree/log/tree_undo.h"
#include "tests/btree/node_test_support.h"
#include "wal/transaction_record.h"

namespace palimpsest::btree::test {

using Payload = std::vector<std::byte>;

/// The payload of a change, in memory of exactly its size: AddressSanitizer detects an overrun.
template <class Change>
[[nodiscard]] Payload encoded(const Change& change) {
  Payload payload(change.encoded_bytes(), std::byte{0xAA});
  change.encode(payload);
  return payload;
}

/// Parses the payload, which must be a record.
[[nodiscard]] inline TreeRecord parsed(const Payload& payload, std::uint32_t page_size) {
  TreeRecord record;
  EXPECT_EQ(parse_tree_record(payload, page_size, record), std::nullopt);
  EXPECT_EQ(validate_tree_record(payload, page_size), std::nullopt)
      << print_tree_record(payload, page_size);
  return record;
}

[[nodiscard]] inline Payload inverse(const Payload& payload, std::uint32_t page_size, PageId page,
                                     SlotIndex slot) {
  const TreeRecord record = parsed(payload, page_size);
  Payload undo(inverse_bytes(record, page, slot), std::byte{0xAA});
  EXPECT_LE(undo.size(), payload.size() + wal::kCompensationGrowthMax);
  write_inverse(record, page, slot, undo);
  return undo;
}

inline void copy_page(const PageMemory& from, const PageMemory& to) {
  std::memcpy(to.data(), from.data(), from.size());
}

[[nodiscard]] inline Gsn gsn_of(ConstBytes page) {
  return buffer::header_of(page).gsn;
}

/// The page with the fields zeroed that redo does not restore, or that no log has set yet:
/// checksum, GSN, write batch.
[[nodiscard]] inline std::string comparable(ConstBytes page) {
  std::string bytes(as_view(page.data(), page.size()));
  const auto clear = [&](std::size_t offset) { std::memset(bytes.data() + offset, 0, 8); };
  clear(offsetof(buffer::PageHeader, checksum));
  clear(offsetof(buffer::PageHeader, gsn));
  clear(offsetof(buffer::PageHeader, write_batch));
  return bytes;
}

/// Success if two pages have the same bytes, except those fields.
[[nodiscard]] inline ::testing::AssertionResult same_page(ConstBytes replayed,
                                                          ConstBytes original) {
  const std::string a = comparable(replayed);
  const std::string b = comparable(original);
  if (a == b) {
    return ::testing::AssertionSuccess();
  }
  std::size_t at = 0;
  while (a[at] == b[at]) {
    ++at;
  }
  return ::testing::AssertionFailure() << "they differ from byte " << at << " on; replayed:\n"
                                       << print_node(replayed) << "original:\n"
                                       << print_node(original);
}

/// A record as a leaf holds it.
struct StoredRecord {
  std::string value;
  std::uint16_t flags = kPlainRecord;

  friend bool operator==(const StoredRecord&, const StoredRecord&) = default;
};

inline void PrintTo(const StoredRecord& record, std::ostream* out) {
  *out << record.value.size() << " bytes \"" << printable(record.value) << "\" flags "
       << record.flags;
}

[[nodiscard]] inline StoredRecord record_at(const LeafView& leaf, SlotIndex slot) {
  return {std::string(leaf.value(slot)), leaf.flags(slot)};
}

using Content = std::map<std::string, StoredRecord>;

inline void add_content(const LeafView& leaf, Content& content) {
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    content.emplace(key_at(leaf, slot), record_at(leaf, slot));
  }
}

[[nodiscard]] inline Content content_of(const LeafView& leaf) {
  Content content;
  add_content(leaf, content);
  return content;
}

/// The log record of a change that was made to a record, of whichever kind.
[[nodiscard]] inline Payload encoded_change(const RecordPlace& at, const StoredRecord* before,
                                            const StoredRecord& after) {
  if (before == nullptr) {
    return encoded(LoggedInsert{at, {after.value, after.flags}});
  }
  if (before->value == after.value && (before->flags ^ after.flags) == kGhost) {
    return encoded(LoggedMark{at, before->flags});
  }
  return encoded(LoggedUpdate{at, {before->value, before->flags}, {after.value, after.flags}});
}

}  // namespace palimpsest::btree::test
