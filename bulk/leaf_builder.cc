#include "bulk/leaf_builder.h"

#include <algorithm>

#include "base/check.h"

namespace palimpsest::bulk {

using btree::KeyBuffer;

namespace {

/// Pages reserved at first, at most; more are allocated as needed.
constexpr std::uint64_t kPagesExpectedMax = std::uint64_t{1} << 14;

std::uint32_t pages_for(std::uint64_t bytes, std::uint32_t page_size) {
  const std::uint64_t pages = bytes / btree::node_capacity_bytes(page_size) + 1;
  return static_cast<std::uint32_t>(std::min(pages, kPagesExpectedMax));
}

std::uint32_t pages_at_once(std::uint64_t bytes, std::uint32_t page_size) {
  return std::min<std::uint32_t>(pages_for(bytes, page_size),
                                 LeafWriter::kTransferBytes / page_size);
}

}  // namespace

LeafBuilder::LeafBuilder(buffer::BufferPool& pool, const Of& of, std::uint64_t bytes,
                         LeafWriter& writer)
    : tree_(of.tree),
      epoch_(of.epoch),
      page_size_(pool.page_size_bytes()),
      lower_(of.lower),
      pages_(pool.space(), pages_at_once(bytes, page_size_), pages_for(bytes, page_size_)),
      writer_(writer) {
  writer_.next();
}

void LeafBuilder::add(ByteView key, ByteView value) {
  const std::uint16_t flags = epoch_ == kNoEpoch ? btree::kPlainRecord : btree::kCreated;
  if (!is_open_ || !leaf().append(key, value, flags)) {
    if (is_open_) {
      end_leaf(key);
    }
    begin_leaf();
    const bool fits = leaf().append(key, value, flags);
    check(fits, "an empty leaf takes any record");
  }
  ++records_;
}

void LeafBuilder::finish() {
  if (!is_open_) {
    return;
  }
  KeyBuffer next;
  KeyBuffer last;
  leaf().copy_key(leaf().count() - 1, last);
  next.assign_clamped(last.view(), {"\0", 1});
  end_leaf(next.view());
  writer_.write();
  writer_.harden();
  fresh_.reserve(built_.size());
  pages_.expect_back(built_.size());
  for (std::size_t leaf = 0; leaf < built_.size(); ++leaf) {
    fresh_.push_back(
        {.page = built_[leaf].page, .lower = lower_of(leaf), .upper = lower_of(leaf + 1)});
  }
}

void LeafBuilder::keep(std::size_t leaves) noexcept {
  for (const Built& leaf : std::span(built_).subspan(leaves)) {
    pages_.put_back(leaf.page);
  }
  pages_.keep();
}

/// The leaf's lower fence, which is the upper fence of the leaf before it.
ByteView LeafBuilder::lower_of(std::size_t leaf) const noexcept {
  if (leaf == 0) {
    return lower_.view();
  }
  const std::size_t begin = leaf == 1 ? 0 : built_[leaf - 2].upper_end;
  return ByteView(uppers_).substr(begin, built_[leaf - 1].upper_end - begin);
}

void LeafBuilder::begin_leaf() {
  if ((writer_.filling().images.size() + 1) * page_size_ > LeafWriter::kTransferBytes) {
    writer_.write();
    writer_.next();
  }
  const PageId page = pages_.take();
  auto& [memory, images] = writer_.filling();
  images.push_back({page, memory.bytes().subspan(images.size() * page_size_, page_size_)});
  leaf().begin_build(page, tree_, lower_of(built_.size()));
  is_open_ = true;
}

void LeafBuilder::end_leaf(ByteView next) {
  KeyBuffer upper;
  const bool is_last = !leaf().seal(next, upper);
  check(!is_last, "a leaf of a run ends before the next key");
  leaf().set_bulk_epoch(epoch_);
  uppers_.append(upper.view());
  built_.push_back({.page = writer_.filling().images.back().id,
                    .records_end = records_,
                    .upper_end = uppers_.size()});
  is_open_ = false;
}

}  // namespace palimpsest::bulk
