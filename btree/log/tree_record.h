// Reads the log records of a tree: parses a payload into a struct of views, validates it, and lists
// the pages and large values that it concerns.
//
// Payloads come from a file and may be malicious. parse_tree_record() bounds everything that the
// views and functions here rely on, without looking at a page; validate_tree_record() also
// validates the nodes that a record carries. tree_redo.h checks the page that a record is applied
// to.
// Failure: parse and validate return the reason; nothing else fails. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/ids.h"
#include "base/varint.h"
#include "btree/large/large_value_format.h"
#include "btree/log/tree_record_format.h"
#include "btree/log/tree_record_lists.h"
#include "btree/node/node_layout.h"
#include "btree/node/node_validate.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

/// A parsed payload; the views point into it. Members that a kind does not have are empty or zero.
struct TreeRecord {
  /// Not defaulted: g++ 12 would make a slow string instruction of the initialisation.
  TreeRecord() noexcept {}  // NOLINT(modernize-use-equals-default)

  TreeRecordKind kind{};
  bool compensation = false;
  bool new_goes_left = false;
  TreeId tree = kNoTree;
  PageId page = kNoPage;       ///< the leaf; of a structure change: left; of a graft: last
  BulkEpoch epoch = kNoEpoch;  ///< resolve and structure changes: the leaves' new epoch
  Resolution resolution = Resolution::kept;
  PageId right = kNoPage;  ///< structure changes only, like the rest of this paragraph
  PageId above = kNoPage;
  TreeId naming_tree = kNoTree;  ///< a move of a root: the tree of `above`
  SlotIndex cut = 0;
  ByteView separator;
  ConstBytes left_image;
  ConstBytes right_image;  ///< also the root's of merge_root

  SlotIndex slot = 0;  ///< of the record, or of the parent's separator
  ByteView key;        ///< record changes only, like the rest
  std::uint16_t flags_before = 0;
  std::uint16_t flags_after = 0;
  std::uint32_t patch_end = 0;   ///< patch: behind the last byte that changes
  std::uint32_t prefix_len = 0;  ///< replace
  std::uint32_t suffix_len = 0;  ///< replace
  ByteView before;  ///< erase: a descriptor or nothing; replace: the bytes between the two above
  ByteView after;   ///< insert: the value; replace
  ByteView list;    ///< patch, bulk_erase: the runs; purge, resolve: the entries; graft: the leaves

  [[nodiscard]] bool moves_root() const noexcept { return naming_tree != kNoTree; }
  [[nodiscard]] bool is_record_change() const noexcept { return kind <= TreeRecordKind::mark; }
  /// Whether a rollback of its transaction undoes it.
  [[nodiscard]] bool is_undoable() const noexcept {
    return (is_record_change() && !compensation) || kind == TreeRecordKind::format_root;
  }
};

[[nodiscard]] std::string_view name_of(TreeRecordKind kind) noexcept;

/// Parses the head of a record change, up to the key, off its payload, which is not empty. Checks
/// only that it is complete.
[[nodiscard]] inline bool take_head(ByteView& bytes, RecordChangeHead& head) noexcept {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  std::uint64_t tree = 0;
  std::uint64_t page = 0;
  head.kind = kind_in(first);
  head.compensation = (first & kCompensation) != 0;
  if (!take_short(bytes, head.slot) || !take_number(bytes, tree) ||
      tree > std::numeric_limits<std::uint32_t>::max() || !take_number(bytes, page) ||
      !take_short(bytes, head.key_len)) {
    return false;
  }
  head.tree_id = TreeId{static_cast<std::uint32_t>(tree)};
  head.page_id = PageId{page};
  if ((first & kHasFlags) == 0) {
    return true;
  }
  if (bytes.size() < 2) {
    return false;
  }
  head.flags_before = static_cast<std::uint8_t>(bytes[0]);
  head.flags_after = static_cast<std::uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  return true;
}

/// A cheap summary of a payload, for readers of a whole log that need little of most records.
/// Checked is only that the numbers it needs are there.
struct RecordSummary {
  bool is_record_change = false;
  bool is_undoable = false;
  bool is_compensation = false;
  bool names_large_value = false;  ///< a record change only: before or after it
  PageId only_page = kNoPage;      ///< the page it concerns, if its kind concerns only one
  bool formats = false;            ///< whether that page gets new content, unread
};
/// summarize() for records that are no record changes.
[[nodiscard]] std::optional<RecordSummary> summarize_other(ConstBytes payload) noexcept;
[[nodiscard]] inline std::optional<RecordSummary> summarize(ConstBytes payload) noexcept {
  if (payload.empty()) {
    return std::nullopt;
  }
  ByteView rest = as_view(payload.data(), payload.size());
  const TreeRecordKind kind = kind_in(static_cast<std::uint8_t>(rest[0]));
  if (kind > TreeRecordKind::mark) [[unlikely]] {
    return summarize_other(payload);
  }
  RecordChangeHead head;
  if (!take_head(rest, head)) [[unlikely]] {
    return std::nullopt;
  }
  const bool has_large_value = ((head.flags_before | head.flags_after) & kNamesLarge) != 0;
  return RecordSummary{.is_record_change = true,
                       .is_undoable = !head.compensation,
                       .is_compensation = head.compensation,
                       .names_large_value = has_large_value && kind != TreeRecordKind::mark,
                       .only_page = head.page_id,
                       .formats = false};
}

/// Parses a payload. Returns the reason if it is invalid; `record` is then meaningless.
[[nodiscard]] std::optional<std::string> parse_tree_record(ConstBytes payload,
                                                           std::uint32_t page_size,
                                                           TreeRecord& record);

/// parse_tree_record(), and validates the nodes that the record carries.
[[nodiscard]] std::optional<std::string> validate_tree_record(ConstBytes payload,
                                                              std::uint32_t page_size,
                                                              const SwipRule& swips = {});

/// The effect of a record on a page.
enum class PageEffect : std::uint8_t {
  change = 1,  ///< redo reads the page as it was
  rewrite,     ///< new content for a page in use, which is not read
  allocate,    ///< the page is allocated and gets content; it is not read
  adopt,       ///< the page is allocated as it is on disk; there is nothing to redo
  free,        ///< nothing refers to the page any more; there is nothing to redo
};

/// Whether there is something to redo.
[[nodiscard]] constexpr bool is_redone(PageEffect effect) noexcept {
  return effect < PageEffect::adopt;
}

/// Calls visit(page, effect) for each page of the record, none twice.
void visit_pages(const TreeRecord& record, FunctionRef<void(PageId, PageEffect)> visit);

enum class ExtentEffect : std::uint8_t {
  allocate = 1,  ///< a record refers to the large value from now on
  free,          ///< no record does any more
};

/// Calls visit(value, effect) for each large value that the record allocates or frees. A record
/// that becomes a ghost keeps its value. What an undoable record frees is free only once its
/// transaction has committed and no reader can see the value any more; what a compensation
/// allocates is what the undone record freed. Payloads must have passed parse_tree_record().
void visit_extents(const TreeRecord& record, std::uint32_t page_size,
                   FunctionRef<void(const LargeValueDescriptor&, ExtentEffect)> visit);

}  // namespace palimpsest::btree
