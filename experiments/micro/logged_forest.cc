#include "experiments/micro/logged_forest.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "btree/log/tree_record_encode.h"
#include "buffer/page_header.h"

namespace palimpsest::experiments {

using btree::InnerNode;
using btree::LeafNode;
using btree::SearchResult;
using btree::SlotIndex;
using btree::SplitPlan;

namespace {

SlotIndex child_of(const InnerNode& node, ByteView key) {
  const SearchResult at = node.find(key);
  return at.found ? at.slot + 1 : at.slot;
}

}  // namespace

LoggedForest::LoggedForest(std::uint32_t page_size, PageId first_page, std::uint32_t trees,
                           Append append)
    : page_size_(page_size), append_(std::move(append)), end_(first_page) {
  for (std::uint32_t tree = 0; tree < trees; ++tree) {
    Gsn at_least{0};
    const PageId page = take_page(at_least);
    roots_.push_back(page);
    const Gsn gsn = log(false, at_least, btree::LoggedFormatRoot{id_of(tree), page});
    leaf(page).init(page, id_of(tree), ByteView(), std::nullopt);
    set_gsn(page, gsn);
  }
}

PageId LoggedForest::leaf_of(std::uint32_t tree, ByteView key) const {
  const InnerNode node = inner(root(tree));
  return node.is_leaf() ? root(tree) : PageId{node.swip_at(child_of(node, key))};
}

Gsn LoggedForest::gsn_of(PageId page) const {
  return buffer::header_of(pages_.at(page).bytes()).gsn;
}

void LoggedForest::set_gsn(PageId page, Gsn gsn) const {
  std::memcpy(bytes(page) + offsetof(buffer::PageHeader, gsn), &gsn, sizeof gsn);
}

void LoggedForest::copy_node(PageId from, PageId to) const {
  std::memcpy(bytes(to), bytes(from), page_size_);
  std::memcpy(bytes(to) + offsetof(buffer::PageHeader, page_id), &to, sizeof to);
}

// Freed pages are reused, by a record newer than the one that freed them.
PageId LoggedForest::take_page(Gsn& at_least) {
  PageId page = end_;
  if (freed_.empty()) {
    end_ = PageId{raw(end_) + 1};
  } else {
    page = freed_.back().page;
    at_least = std::max(at_least, freed_.back().gsn);
    freed_.pop_back();
  }
  pages_.insert_or_assign(page, AlignedMemory(page_size_, 64));
  return page;
}

void LoggedForest::free_page(PageId page, Gsn gsn) {
  pages_.erase(page);
  freed_.push_back({page, gsn});
}

template <class Change>
Gsn LoggedForest::log(bool of_transaction, Gsn at_least, const Change& change) {
  body_.resize(change.encoded_bytes());
  change.encode(body_);
  return append_(of_transaction, at_least, body_);
}

bool LoggedForest::insert(std::uint32_t tree, ByteView key, ByteView value) {
  for (;;) {
    const PageId page = leaf_of(tree, key);
    LeafNode node = leaf(page);
    const SearchResult at = node.find(key);
    if (at.found) {
      return false;
    }
    if (node.can_insert(key.size(), value.size())) {
      const Gsn gsn =
          log(true, gsn_of(page), btree::LoggedInsert{{id_of(tree), page, at.slot, key}, {value}});
      const bool fits = node.insert(at.slot, key, value);
      check(fits, "an insert that was asked for fits");
      set_gsn(page, gsn);
      return true;
    }
    if (!split(tree, key, value.size())) {
      return false;
    }
  }
}

bool LoggedForest::update(std::uint32_t tree, ByteView key, ByteView value) {
  for (;;) {
    const PageId page = leaf_of(tree, key);
    LeafNode node = leaf(page);
    const SearchResult at = node.find(key);
    if (!at.found || node.is_ghost(at.slot)) {
      return false;
    }
    if (node.can_replace(at.slot, value.size())) {
      const Gsn gsn = log(
          true, gsn_of(page),
          btree::LoggedUpdate{{id_of(tree), page, at.slot, key}, {node.value(at.slot)}, {value}});
      if (node.value(at.slot).size() == value.size()) {
        std::memcpy(node.value_bytes(at.slot).data(), value.data(), value.size());
      } else {
        const bool fits = node.replace_value(at.slot, value);
        check(fits, "a replacement that was asked for fits");
      }
      set_gsn(page, gsn);
      return true;
    }
    if (!split(tree, key, value.size())) {
      return false;
    }
  }
}

bool LoggedForest::remove(std::uint32_t tree, ByteView key) {
  const PageId page = leaf_of(tree, key);
  LeafNode node = leaf(page);
  const SearchResult at = node.find(key);
  if (!at.found || node.is_ghost(at.slot)) {
    return false;
  }
  const Gsn gsn = log(true, gsn_of(page),
                      btree::LoggedMark{{id_of(tree), page, at.slot, key}, node.flags(at.slot)});
  node.set_ghost(at.slot, true);
  set_gsn(page, gsn);
  return true;
}

bool LoggedForest::purge(std::uint32_t tree, ByteView key) {
  const PageId page = leaf_of(tree, key);
  LeafNode node = leaf(page);
  std::vector<SlotIndex> ghosts;
  for (SlotIndex slot = 0; slot < node.count(); ++slot) {
    if (node.is_ghost(slot)) {
      ghosts.push_back(slot);
    }
  }
  if (ghosts.empty()) {
    return false;
  }
  const Gsn gsn = log(false, gsn_of(page), btree::LoggedPurge{node, ghosts});
  node.purge_ghosts(ghosts);
  set_gsn(page, gsn);
  return true;
}

bool LoggedForest::split(std::uint32_t tree, ByteView key, std::size_t value_len) {
  const PageId left = leaf_of(tree, key);
  LeafNode node = leaf(left);
  const SearchResult at = node.find(key);
  SplitPlan plan;
  at.found ? plan_split(node, plan) : plan_split(node, at.slot, key, value_len, plan);
  if (left == root(tree)) {
    split_root(tree, plan);
    return true;
  }
  InnerNode parent = inner(root(tree));
  if (!parent.can_insert(plan.separator.view().size())) {
    return false;
  }
  Gsn at_least = std::max(gsn_of(left), gsn_of(root(tree)));
  const PageId right = take_page(at_least);
  split_into(node, leaf(right), right, plan);
  const SlotIndex slot = parent.find(plan.separator.view()).slot;
  const Gsn gsn =
      log(false, at_least, btree::LoggedSplit{plan, left, leaf(right), root(tree), slot});
  const bool fits = parent.insert(slot, plan.separator.view(), raw(right));
  check(fits, "a separator that was asked for fits");
  for (const PageId page : {left, right, root(tree)}) {
    set_gsn(page, gsn);
  }
  return true;
}

void LoggedForest::split_root(std::uint32_t tree, const SplitPlan& plan) {
  Gsn at_least = gsn_of(root(tree));
  const PageId left = take_page(at_least);
  const PageId right = take_page(at_least);
  copy_node(root(tree), left);
  split_into(leaf(left), leaf(right), right, plan);
  const Gsn gsn =
      log(false, at_least, btree::LoggedRootSplit{plan, leaf(left), leaf(right), root(tree)});
  InnerNode above = inner(root(tree));
  above.init(root(tree), id_of(tree), 1, ByteView(), std::nullopt, raw(left));
  const bool fits = above.insert(0, plan.separator.view(), raw(right));
  check(fits, "an empty root takes any separator");
  for (const PageId page : {left, right, root(tree)}) {
    set_gsn(page, gsn);
  }
}

bool LoggedForest::merge(std::uint32_t tree, ByteView key) {
  InnerNode parent = inner(root(tree));
  if (parent.is_leaf()) {
    return false;
  }
  const SlotIndex child = child_of(parent, key);
  if (child == parent.count()) {
    return false;
  }
  const PageId left{parent.swip_at(child)};
  const PageId right{parent.swip_at(child + 1)};
  if (!can_merge(leaf(left), leaf(right))) {
    return false;
  }
  if (parent.count() == 1) {
    merge_root(tree, left, right);
    return true;
  }
  const Gsn at_least = std::max({gsn_of(left), gsn_of(right), gsn_of(root(tree))});
  const Gsn gsn = log(false, at_least, btree::LoggedMerge{left, leaf(right), root(tree), child});
  merge_into_left(leaf(left), leaf(right));
  parent.remove(child);
  set_gsn(left, gsn);
  set_gsn(root(tree), gsn);
  free_page(right, gsn);
  return true;
}

void LoggedForest::merge_root(std::uint32_t tree, PageId left, PageId right) {
  const Gsn at_least = std::max({gsn_of(left), gsn_of(right), gsn_of(root(tree))});
  merge_into_left(leaf(left), leaf(right));
  copy_node(left, root(tree));
  const Gsn gsn = log(false, at_least, btree::LoggedRootMerge{left, right, leaf(root(tree))});
  set_gsn(root(tree), gsn);
  free_page(left, gsn);
  free_page(right, gsn);
}

std::optional<std::string> LoggedForest::find(std::uint32_t tree, ByteView key) const {
  const LeafNode node = leaf(leaf_of(tree, key));
  const SearchResult at = node.find(key);
  if (!at.found || node.is_ghost(at.slot)) {
    return std::nullopt;
  }
  return std::string(node.value(at.slot));
}

}  // namespace palimpsest::experiments
