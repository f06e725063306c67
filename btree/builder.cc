#include "btree/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/leaf_entries.h"
#include "btree/node_print.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::PageType;

namespace {

/// Inner nodes are few: a sixteenth of a run of leaves lasts for a while.
constexpr std::uint32_t kInnerRunShare = 16;

std::uint32_t run_pages(std::uint32_t page_size) {
  return static_cast<std::uint32_t>(TreeBuilder::kRunBytes / page_size);
}

std::uint32_t spare_bytes_of(double fill_factor, std::uint32_t page_size) {
  if (!(fill_factor >= TreeBuilder::kFillFactorMin && fill_factor <= 1)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a fill factor of {}: it is {} to 1",
                                                         fill_factor, TreeBuilder::kFillFactorMin));
  }
  return static_cast<std::uint32_t>((1 - fill_factor) * node_capacity_bytes(page_size));
}

/// The root, latched, of a tree without records; throws if it has some.
template <class Guard>
Guard empty_root(const BTree& tree) {
  auto leaf = tree.descent().leaf<Guard>(Target{});
  const bool is_root = leaf.frame().parent.load(std::memory_order_relaxed) == kNoFrame;
  if (!is_root || LeafView(leaf.page(), tree.descent().page_size()).count() != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("tree {} is not empty: only an empty tree can be built", raw(tree.id())));
  }
  return leaf;
}

}  // namespace

TreeBuilder::TreeBuilder(BTree& tree, double fill_factor)
    : tree_(tree),
      page_size_(tree.descent().page_size()),
      spare_bytes_(spare_bytes_of(fill_factor, page_size_)),
      leaf_pages_(tree.descent().pool().space(), run_pages(page_size_)),
      inner_pages_(tree.descent().pool().space(),
                   std::max(1U, run_pages(page_size_) / kInnerRunShare)),
      memory_(kRunBytes, page_size_) {
  tree.descent().pool().file().require_writable();
  static_cast<void>(empty_root<buffer::SharedPage>(tree));
}

void TreeBuilder::add(ByteView key, ByteView value) {
  require_usable();
  try {
    check_record(key);
    append(key, value);
  } catch (...) {
    fail();
    throw;
  }
  last_key_.assign(key);
  ++records_;
}

void TreeBuilder::finish() {
  require_usable();
  try {
    complete();
  } catch (...) {
    fail();
    throw;
  }
  state_ = State::finished;
}

void TreeBuilder::require_usable() const {
  if (state_ != State::building) {
    throw Error(ErrorCode::failed, state_ == State::finished
                                       ? "a finished build cannot be continued"
                                       : "a failed build cannot be continued");
  }
}

void TreeBuilder::check_record(ByteView key) const {
  if (key.empty() || key.size() > key_bytes_max(page_size_)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record {}: a key of {} bytes: keys have 1 to {} bytes with pages of "
                            "{} bytes",
                            records_ + 1, key.size(), key_bytes_max(page_size_), page_size_));
  }
  if (records_ > 0 && key <= last_key_.view()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record {}: its key \"{}\" is not above \"{}\", the one before",
                            records_ + 1, printable(key), printable(last_key_.view())));
  }
}

void TreeBuilder::append(ByteView key, ByteView value) {
  if (key.size() + value.size() <= record_bytes_max(page_size_)) {
    append_to_leaf(key, value, kPlainRecord);
    return;
  }
  if (value.size() > kLargeValueBytesMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record {}: a value of {} bytes: values have at most {} bytes",
                            records_ + 1, value.size(), kLargeValueBytesMax));
  }
  const LargeValueDescriptor large = tree_.large_values().write(value);
  inner_pages_.adopt(large.runs());
  append_to_leaf(key, large.encode().view(), kLargeValue);
}

void TreeBuilder::append_to_leaf(ByteView key, ByteView stored, std::uint16_t flags) {
  if (!has_leaf()) {
    const PageId page = leaf_pages_.take();
    next_image(page);
    leaf().begin_build(page, tree_.id(), ByteView());
  }
  const std::size_t record_bytes = sizeof(LeafSlot) + key.size() + stored.size();
  const bool full = leaf().count() > 0 && record_bytes + spare_bytes_ > leaf().free_bytes();
  if (!full && leaf().append(key, stored, flags)) {
    return;
  }
  begin_next_leaf(key);
  const bool fits = leaf().append(key, stored, flags);
  check(fits, "an empty leaf takes any record");
}

// Ends the leaf being filled; the one after it starts where `next` does, or, without `next`, is the
// empty end of the tree, if one is needed.
void TreeBuilder::begin_next_leaf(std::optional<ByteView> next) {
  KeyBuffer upper;
  if (!leaf().seal(next, upper)) {
    return;
  }
  const PageId left = images_.back().id;
  const PageId right = leaf_pages_.take();
  add_child(1, upper.view(), left, right);
  next_image(right);
  if (next) {
    leaf().begin_build(right, tree_.id(), upper.view());
  } else {
    leaf().init(right, tree_.id(), upper.view(), std::nullopt);
  }
}

// Hangs `right` below the node of `level` that ends with `left`; where it is full, it is done and
// another one begins with `right`. Every image in memory_ is complete.
void TreeBuilder::add_child(std::uint32_t level, ByteView separator, PageId left, PageId right) {
  if (spine_.size() < level) {
    spine_.push_back({inner_pages_.take(), AlignedMemory(page_size_, page_size_)});
    InnerNode(spine_.back().image.data(), page_size_)
        .init(spine_.back().page, tree_.id(), level, ByteView(), std::nullopt, raw(left));
  }
  InnerNode node(spine_[level - 1].image.data(), page_size_);
  const std::size_t entry_bytes = sizeof(InnerSlot) + separator.size();
  const bool full = node.count() > 0 && entry_bytes + spare_bytes_ > node.free_bytes();
  if (!full && node.append(separator, raw(right))) {
    return;
  }
  node.seal_upper(separator);
  const PageId done = spine_[level - 1].page;
  std::memcpy(next_image(done), node.page(), page_size_);
  const PageId begun = inner_pages_.take();
  add_child(level + 1, separator, done, begun);
  spine_[level - 1].page = begun;
  node.init(begun, tree_.id(), level, separator, std::nullopt, raw(right));
}

/// Memory for a page to be written.
std::byte* TreeBuilder::next_image(PageId page) {
  if ((images_.size() + 1) * page_size_ > memory_.size_bytes()) {
    write_images();
  }
  images_.push_back({page, memory_.bytes().subspan(images_.size() * page_size_, page_size_)});
  return images_.back().bytes.data();
}

void TreeBuilder::write_images() {
  tree_.descent().pool().writer().write_fresh(images_);
  images_.clear();
}

void TreeBuilder::complete() {
  if (!has_leaf()) {
    return;  // an empty input: the tree is what it was
  }
  begin_next_leaf(std::nullopt);
  if (spine_.empty()) {
    leaf_pages_.put_back(images_.back().id);
    install(images_.back().bytes.data());
  } else {
    for (std::size_t i = 0; i + 1 < spine_.size(); ++i) {
      std::memcpy(next_image(spine_[i].page), spine_[i].image.data(), page_size_);
    }
    write_images();
    inner_pages_.put_back(spine_.back().page);
    install(spine_.back().image.data());
  }
  leaf_pages_.keep();
  inner_pages_.keep();
}

// Moves the topmost node into the root's frame; its children are on disk.
void TreeBuilder::install(std::byte* top) {
  PALIMPSEST_SYNC_POINT("btree.build.written");
  ExclusivePage root = empty_root<ExclusivePage>(tree_);
  const PageId root_page = tree_.root_page();
  std::memcpy(top + offsetof(buffer::PageHeader, page_id), &root_page, sizeof root_page);
  const bool is_leaf = LeafView(top, page_size_).is_leaf();
  if (!drop_idle_table(root, page_size_)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("tree {} has records removed by a writer that has not ended", raw(tree_.id())));
  }
  std::memcpy(root.modify(), top, page_size_);
  tree_.descent().pool().set_type(root, is_leaf ? PageType::tree_leaf : PageType::tree_inner);
}

void TreeBuilder::fail() noexcept {
  state_ = State::failed;
  leaf_pages_.give_back_all();
  inner_pages_.give_back_all();
}

}  // namespace palimpsest::btree
