#include "btree/log/tree_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "btree/node/key_bytes.h"
#include "btree/node/node_image.h"

namespace palimpsest::btree {
namespace {

using Fault = std::optional<std::string>;

constexpr std::uint16_t kSlotsMax = buffer::kPageSizeMax / sizeof(LeafSlot);

bool names_large(std::uint32_t flags) noexcept {
  return (flags & kNamesLarge) != 0;
}

/// Does record = TreeRecord{}, field by field: g++ 12 makes a slow string instruction of the
/// assignment, which took most of the time of parsing.
void forget(TreeRecord& record) noexcept {
  record.kind = {};
  record.compensation = false;
  record.new_goes_left = false;
  record.tree = kNoTree;
  record.page = kNoPage;
  record.epoch = kNoEpoch;
  record.resolution = Resolution::kept;
  record.right = kNoPage;
  record.above = kNoPage;
  record.naming_tree = kNoTree;
  record.cut = 0;
  record.separator = {};
  record.left_image = {};
  record.right_image = {};
  record.slot = 0;
  record.key = {};
  record.flags_before = 0;
  record.flags_after = 0;
  record.patch_end = 0;
  record.prefix_len = 0;
  record.suffix_len = 0;
  record.before = {};
  record.after = {};
  record.list = {};
}

/// Parses a payload from front to back.
class Parser {
 public:
  Parser(ConstBytes payload, std::uint32_t page_size, TreeRecord& record) noexcept
      : rest_(as_view(payload.data(), payload.size())), page_size_(page_size), record_(record) {}

  [[nodiscard]] Fault run() {
    if (rest_.empty()) [[unlikely]] {
      return "it is empty";
    }
    // Without a kind it is still empty: no other member is read before the kind.
    if (record_.kind != TreeRecordKind{}) {
      forget(record_);
    }
    record_.kind = kind_in(static_cast<std::uint8_t>(rest_[0]));
    switch (record_.kind) {
      case TreeRecordKind::insert:
      case TreeRecordKind::erase:
      case TreeRecordKind::patch:
      case TreeRecordKind::replace:
      case TreeRecordKind::mark: return record_change(rest_);
      case TreeRecordKind::format_root:
      case TreeRecordKind::free_root:
      case TreeRecordKind::purge:
      case TreeRecordKind::resolve:
      case TreeRecordKind::bulk_erase: return leaf_change();
      case TreeRecordKind::graft: return graft();
      case TreeRecordKind::split:
      case TreeRecordKind::split_root:
      case TreeRecordKind::merge:
      case TreeRecordKind::merge_root:
      case TreeRecordKind::move: return structure_change();
    }
    return fmt::format("kind {} is unknown", static_cast<unsigned>(record_.kind));
  }

 private:
  /// Takes the next bytes as `value`; false if there are too few.
  template <class T>
  [[nodiscard]] bool take(T& value) noexcept {
    if (rest_.size() < sizeof value) {
      return false;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  [[nodiscard]] bool take(ByteView& bytes, std::size_t size) noexcept {
    return take(rest_, bytes, size);
  }
  [[nodiscard]] static bool take(ByteView& rest, ByteView& bytes, std::size_t size) noexcept {
    if (rest.size() < size) [[unlikely]] {
      return false;
    }
    bytes = {rest.data(), size};
    rest.remove_prefix(size);
    return true;
  }
  [[nodiscard]] Fault cut_off() const {
    return fmt::format("a record of kind {} is cut off", name_of(record_.kind));
  }
  [[nodiscard]] Fault identity(TreeId tree, PageId page) {
    record_.tree = tree;
    record_.page = page;
    if (tree == kNoTree || !is_page_id(raw(page))) [[unlikely]] {
      return fmt::format("page {:#x} of tree {} is not a possible page", raw(page), raw(tree));
    }
    return std::nullopt;
  }

  // These take the rest as an argument, so that it stays in registers.
  [[nodiscard]] Fault record_change(ByteView rest);
  [[nodiscard]] Fault flags() const;
  [[nodiscard]] Fault body(ByteView rest);
  [[nodiscard]] Fault patch(ByteView rest);
  [[nodiscard]] Fault replace(ByteView rest);
  [[nodiscard]] Fault value(ByteView bytes, std::uint16_t flags) const;
  /// Most bytes of key and value together, with these flags.
  [[nodiscard]] std::size_t bytes_max(std::uint32_t flags) const noexcept {
    return (flags & kShadowed) == 0 ? record_bytes_max(page_size_) : stored_bytes_max(page_size_);
  }
  [[nodiscard]] Fault leaf_change();
  [[nodiscard]] Fault entries(std::uint32_t count);
  [[nodiscard]] Fault runs(std::uint32_t count);
  [[nodiscard]] Fault graft();
  [[nodiscard]] Fault structure_change();
  [[nodiscard]] Fault structure_numbers(const StructureChangeHeader& header) const;
  [[nodiscard]] Fault images(const StructureChangeHeader& header);

  ByteView rest_;
  std::uint32_t page_size_;
  TreeRecord& record_;
};

Fault Parser::record_change(ByteView rest) {
  const unsigned bits = bits_in(static_cast<std::uint8_t>(rest[0]));
  RecordChangeHead head;
  if (!take_head(rest, head)) [[unlikely]] {
    return cut_off();
  }
  if (Fault fault = identity(head.tree_id, head.page_id)) [[unlikely]] {
    return fault;
  }
  record_.compensation = head.compensation;
  record_.slot = head.slot;
  record_.flags_before = head.flags_before;
  record_.flags_after = head.flags_after;
  if ((bits & ~(kCompensation | kHasFlags)) != 0) [[unlikely]] {
    return fmt::format("unknown bits {:#x}", bits);
  }
  if ((bits & kHasFlags) != 0 && !head.has_flags()) [[unlikely]] {
    return "flags are stored but none is set";
  }
  if (head.key_len == 0 || head.key_len > key_bytes_max(page_size_)) [[unlikely]] {
    return fmt::format("a key of {} bytes", head.key_len);
  }
  if (!take(rest, record_.key, head.key_len)) [[unlikely]] {
    return cut_off();
  }
  if (Fault fault = flags()) [[unlikely]] {
    return fault;
  }
  return body(rest);
}

Fault Parser::flags() const {
  const std::uint32_t before = record_.flags_before;
  const std::uint32_t after = record_.flags_after;
  bool possible = are_record_flags(before) && are_record_flags(after);
  switch (record_.kind) {
    case TreeRecordKind::insert:
      possible = possible && before == 0 && (after & kGhost) == 0 && !record_.compensation;
      break;
    case TreeRecordKind::erase: possible = possible && after == 0 && record_.compensation; break;
    case TreeRecordKind::patch: possible = possible && !names_large(before | after); break;
    case TreeRecordKind::mark: {
      const std::uint32_t changed = before ^ after;
      possible = possible && (changed & kGhost) != 0 &&
                 (changed & ~std::uint32_t{kGhost | kCreated | kDeleted}) == 0;
      break;
    }
    default: break;
  }
  if (!possible) [[unlikely]] {
    return fmt::format("flags {:#x} before and {:#x} after {}{}", before, after,
                       record_.compensation ? "the compensation " : "", name_of(record_.kind));
  }
  return std::nullopt;
}

Fault Parser::body(ByteView rest) {
  switch (record_.kind) {
    case TreeRecordKind::insert:
      record_.after = rest;
      return value(record_.after, record_.flags_after);
    case TreeRecordKind::erase:
      record_.before = rest;
      if (!names_large(record_.flags_before) && !record_.before.empty()) {
        return "a value where none is expected";
      }
      return value(record_.before, record_.flags_before);
    case TreeRecordKind::patch: return patch(rest);
    case TreeRecordKind::replace: return replace(rest);
    default: break;
  }
  return rest.empty() ? std::nullopt : Fault("bytes behind its end");
}

Fault Parser::patch(ByteView rest) {
  record_.list = rest;
  const std::size_t limit =
      bytes_max(record_.flags_before | record_.flags_after) - record_.key.size();
  std::uint32_t end = 0;
  for (bool first = true; !rest.empty(); first = false) {
    PatchRun run;
    if (!take_patch_run(rest, end, run)) [[unlikely]] {
      return cut_off();
    }
    const std::size_t len = run.difference.size();
    if (len == 0 || (!first && run.offset == end) || run.end() > limit) [[unlikely]] {
      return fmt::format("a run of {} bytes at {} of a value, behind one up to {}", len, run.offset,
                         end);
    }
    end = run.end();
  }
  record_.patch_end = end;
  return std::nullopt;
}

Fault Parser::replace(ByteView rest) {
  std::uint16_t before_len = 0;
  if (!take_short(rest, record_.prefix_len) || !take_short(rest, record_.suffix_len) ||
      !take_short(rest, before_len) || !take(rest, record_.before, before_len)) [[unlikely]] {
    return cut_off();
  }
  record_.after = rest;
  const std::size_t common = std::size_t{record_.prefix_len} + record_.suffix_len;
  if (record_.key.size() + common + record_.before.size() > bytes_max(record_.flags_before) ||
      record_.key.size() + common + record_.after.size() > bytes_max(record_.flags_after))
      [[unlikely]] {
    return fmt::format("values of {} and {} bytes", common + record_.before.size(),
                       common + record_.after.size());
  }
  if (!names_large(record_.flags_before | record_.flags_after)) {
    return std::nullopt;
  }
  if (common != 0) {
    return "a part of a large value's descriptor";
  }
  if (Fault fault = value(record_.before, record_.flags_before)) {
    return fault;
  }
  return value(record_.after, record_.flags_after);
}

Fault Parser::value(ByteView bytes, std::uint16_t flags) const {
  if (record_.key.size() + bytes.size() > bytes_max(flags)) [[unlikely]] {
    return fmt::format("a key of {} and a value of {} bytes", record_.key.size(), bytes.size());
  }
  if (!is_stored_value(bytes, flags)) [[unlikely]] {
    return fmt::format("a value of {} bytes has no shadow", bytes.size());
  }
  DescriptorFault fault = DescriptorFault::none;
  for_each_large({bytes, flags}, [&](ByteView descriptor) {
    if (fault == DescriptorFault::none) {
      fault = LargeValueDescriptor::judge(descriptor, page_size_);
    }
  });
  if (fault != DescriptorFault::none) {
    return fmt::format("the descriptor of a large value: {}", name_of(fault));
  }
  return std::nullopt;
}

Fault Parser::leaf_change() {
  LeafChangeHeader header;
  if (!take(header)) {
    return cut_off();
  }
  if (Fault fault = identity(header.tree_id, header.page_id)) {
    return fault;
  }
  const bool resolves = record_.kind == TreeRecordKind::resolve;
  if (bits_in(header.kind) != 0 || header.resolution > (resolves ? 1 : 0)) {
    return fmt::format("unknown bits {:#x}, or resolution {}", bits_in(header.kind),
                       header.resolution);
  }
  if (resolves) {
    record_.resolution = Resolution{header.resolution};
    return take(record_.epoch) ? entries(header.count) : cut_off();
  }
  if (record_.kind == TreeRecordKind::purge) {
    return header.count == 0 ? Fault("the purge removes nothing") : entries(header.count);
  }
  if (record_.kind == TreeRecordKind::bulk_erase) {
    return header.count == 0 ? Fault("the deletion erases nothing") : runs(header.count);
  }
  return header.count == 0 && rest_.empty() ? std::nullopt : Fault("bytes after its end");
}

Fault Parser::entries(std::uint32_t count) {
  record_.list = rest_;
  std::int32_t last = -1;
  std::uint32_t found = 0;
  for (; !rest_.empty(); ++found) {
    PurgeEntry entry;
    ByteView descriptor;
    if (!take(entry) || !take(descriptor, entry.descriptor_len)) {
      return cut_off();
    }
    if (std::int32_t{entry.slot} <= last || entry.slot >= kSlotsMax) {
      return fmt::format("slot {} behind slot {}", entry.slot, last);
    }
    last = entry.slot;
    if (Fault fault = value(descriptor, descriptor.empty() ? kPlainRecord : kLargeValue)) {
      return fault;
    }
  }
  if (found != count) {
    return fmt::format("{} entries where {} are announced", found, count);
  }
  return std::nullopt;
}

Fault Parser::runs(std::uint32_t count) {
  record_.list = rest_;
  std::uint32_t end = 0;
  std::uint32_t found = 0;
  for (; !rest_.empty(); ++found) {
    SlotRun run;
    if (!take(run)) {
      return cut_off();
    }
    if (run.count == 0 || (found != 0 && run.first <= end) || run.first + run.count > kSlotsMax) {
      return fmt::format("{} slots from slot {} behind slot {}", run.count, run.first, end);
    }
    end = std::uint32_t{run.first} + run.count - 1;
  }
  if (found != count) {
    return fmt::format("{} runs where {} are announced", found, count);
  }
  return std::nullopt;
}

// Redo checks whether the separators fit the parent.
Fault Parser::graft() {
  GraftHeader header;
  if (!take(header)) {
    return cut_off();
  }
  if (Fault fault = identity(header.tree_id, header.last)) {
    return fault;
  }
  record_.above = header.above;
  record_.slot = header.slot;
  record_.list = rest_;
  if (bits_in(header.kind) != 0 || header.reserved != 0 || !is_page_id(raw(header.above)) ||
      header.above == header.last) {
    return fmt::format("unknown bits, or pages {:#x} and {:#x} together", raw(header.last),
                       raw(header.above));
  }
  ByteView before;
  std::vector<PageId> pages;
  while (!rest_.empty()) {
    PageId page = kNoPage;
    ByteView separator;
    if (!take_grafted(rest_, page, separator)) {
      return cut_off();
    }
    if (!is_page_id(raw(page)) || page == header.last || page == header.above) {
      return fmt::format("page {:#x} is not a possible leaf", raw(page));
    }
    if (separator <= before || separator.size() > key_bytes_max(page_size_)) {
      return fmt::format("a separator of {} bytes that is not above the one before",
                         separator.size());
    }
    before = separator;
    pages.push_back(page);
  }
  if (pages.empty() || pages.size() != header.count) {
    return fmt::format("{} leaves where {} are announced", pages.size(), header.count);
  }
  std::ranges::sort(pages);
  const auto twice = std::ranges::adjacent_find(pages);
  return twice == pages.end() ? std::nullopt
                              : Fault(fmt::format("page {} twice as a leaf", raw(*twice)));
}

Fault Parser::structure_change() {
  StructureChangeHeader header;
  if (!take(header)) {
    return cut_off();
  }
  if (Fault fault = identity(header.tree_id, header.left)) {
    return fault;
  }
  record_.right = header.right;
  record_.above = header.above;
  record_.slot = header.slot;
  record_.cut = header.cut;
  const bool is_move = record_.kind == TreeRecordKind::move;
  const bool has_bit = (header.kind & kNewGoesLeft) != 0;
  record_.new_goes_left = has_bit && !is_move;
  record_.naming_tree = has_bit && is_move ? TreeId{header.left_bytes} : kNoTree;
  record_.epoch = header.epoch;
  if (Fault fault = structure_numbers(header)) {
    return fault;
  }
  if (!take(record_.separator, header.separator_len)) {
    return cut_off();
  }
  return images(header);
}

Fault Parser::structure_numbers(const StructureChangeHeader& header) const {
  const bool is_split = record_.kind == TreeRecordKind::split;
  const bool splits = is_split || record_.kind == TreeRecordKind::split_root;
  const bool has_parent =
      is_split || record_.kind == TreeRecordKind::merge || record_.kind == TreeRecordKind::move;
  if (!is_page_id(raw(header.right)) || !is_page_id(raw(header.above)) ||
      header.left == header.right || header.left == header.above || header.right == header.above) {
    return fmt::format("pages {:#x}, {:#x} and {:#x} together", raw(header.left), raw(header.right),
                       raw(header.above));
  }
  const bool is_move = record_.kind == TreeRecordKind::move;
  const unsigned known_bits = is_split ? kNewGoesLeft : is_move ? kMovesRoot : 0;
  if ((bits_in(header.kind) & kMovesRoot) != 0 && is_move && header.left_bytes == 0) {
    return "a moved root with its parent missing";
  }
  if ((bits_in(header.kind) & ~known_bits) != 0 || header.reserved != 0 ||
      (!has_parent && header.slot != 0) || (!is_split && header.cut != 0)) {
    return "unknown bits, or unused fields that are not zero";
  }
  if (splits ? header.separator_len == 0 || header.separator_len > key_bytes_max(page_size_)
             : header.separator_len != 0) {
    return fmt::format("a separator of {} bytes", header.separator_len);
  }
  return std::nullopt;
}

Fault Parser::images(const StructureChangeHeader& header) {
  const auto image = [&](ConstBytes& into, std::size_t bytes) {
    ByteView view;
    if (!take(view, bytes)) {
      return false;
    }
    into = std::as_bytes(std::span(view));
    return is_node_image(into, page_size_);
  };
  const bool two = record_.kind == TreeRecordKind::split_root;
  const bool has_left_bytes = two || record_.moves_root();
  if (two ? !image(record_.left_image, header.left_bytes)
          : header.left_bytes != 0 && !has_left_bytes) {
    return fmt::format("a left image of {} bytes", header.left_bytes);
  }
  if (const std::size_t bytes = rest_.size(); !image(record_.right_image, bytes)) {
    return fmt::format("an image of {} bytes", bytes);
  }
  if (two && image_level(record_.left_image) != image_level(record_.right_image)) {
    return "images of two levels";
  }
  if (record_.epoch != kNoEpoch && image_level(record_.right_image) != 0) {
    return "an epoch of inner nodes";
  }
  if (image_level(record_.right_image) >= kLevelMax) {
    return fmt::format("level {} below another", image_level(record_.right_image));
  }
  return std::nullopt;
}

/// Validates the nodes that a structure change carries.
Fault judge_images(const TreeRecord& record, const SwipRule& swips, MutableBytes page) {
  const NodeView node(page.data(), static_cast<std::uint32_t>(page.size()));
  if (!record.left_image.empty()) {
    if (Fault fault = read_node_image(record.left_image, record.page, record.tree, swips, page)) {
      return fault;
    }
    if (!node.lower_fence().empty() || node.upper_is_infinite() ||
        node.upper_fence() != record.separator) {
      return "the left node does not end at the separator";
    }
  }
  if (Fault fault = read_node_image(record.right_image, record.right, record.tree, swips, page)) {
    return fault;
  }
  const bool whole = node.lower_fence().empty() && node.upper_is_infinite();
  switch (record.kind) {
    case TreeRecordKind::merge_root:
      return whole ? std::nullopt : Fault("the root's image has fences");
    case TreeRecordKind::merge:
      return node.lower_fence().empty() ? Fault("a right node without a lower fence")
                                        : std::nullopt;
    case TreeRecordKind::move:
      return whole || !record.moves_root() ? std::nullopt : Fault("the root's image has fences");
    default: break;
  }
  if (node.lower_fence() != record.separator ||
      (record.kind == TreeRecordKind::split_root && !node.upper_is_infinite())) {
    return "the right node does not begin at the separator";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> parse_tree_record(ConstBytes payload, std::uint32_t page_size,
                                             TreeRecord& record) {
  return Parser(payload, page_size, record).run();
}

std::optional<std::string> validate_tree_record(ConstBytes payload, std::uint32_t page_size,
                                                const SwipRule& swips) {
  TreeRecord record;
  Fault fault = parse_tree_record(payload, page_size, record);
  if (!fault && !record.right_image.empty()) {
    with_scratch_page(page_size, [&](std::byte* scratch) {
      fault = judge_images(record, swips, {scratch, page_size});
    });
  }
  return fault;
}

}  // namespace palimpsest::btree
