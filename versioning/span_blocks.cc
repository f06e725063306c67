#include "versioning/span_blocks.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::versioning {

SpanBlocks::SpanBlocks(EntryMemory& memory) : memory_(memory) {
  for (Shard& shard : shards_) {
    shard.buckets.resize(kBucketsMin, nullptr);
  }
}

SpanBlocks::~SpanBlocks() {
  for (Shard& shard : shards_) {
    for (Block* block : shard.buckets) {
      while (block != nullptr) {
        free_block(std::exchange(block, block->next));
      }
    }
  }
}

SpanBlocks::Block* SpanBlocks::block_for(Shard& shard, PageId page, const Span& span,
                                         CanJoin can_join) noexcept {
  const std::uint64_t range = range_of(page);
  const Gsn horizon = memory_.horizon();
  for (Block* block = bucket_of(shard, range); block != nullptr; block = block->next) {
    if (block->range == range && block->made.span.to > horizon &&
        can_join(block->made.span, span)) {
      return block;
    }
  }
  return make_block(shard, range);
}

bool SpanBlocks::enter(PageId page, const Made& made, CanJoin can_join) noexcept {
  if (!can_join(made.span, made.span)) {
    return false;
  }
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  PALIMPSEST_DEBUG_CHECK(*link_of(shard, page) == nullptr, "an evicted page was in no block");
  Block* const block = block_for(shard, page, made.span, can_join);
  if (block == nullptr) {
    return false;
  }
  block->made.span = block->made.span.with(made.span);
  block->made.youngest = std::max(block->made.youngest, made.youngest);
  word_of(*block, page) |= bit_of(page);
  ++block->count;
  pages_.fetch_add(1, std::memory_order_relaxed);  // before the swip names the page again
  return true;
}

SpanBlocks::Block** SpanBlocks::link_of(Shard& shard, PageId page) noexcept {
  const std::uint64_t range = range_of(page);
  Block** link = &bucket_of(shard, range);
  while (*link != nullptr &&
         ((*link)->range != range || (word_of(**link, page) & bit_of(page)) == 0)) {
    link = &(*link)->next;
  }
  return link;
}

void SpanBlocks::take(PageId page, FunctionRef<void(const Made&)> restore) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  Block** const link = link_of(shard, page);
  Block* const block = *link;
  if (block == nullptr) {
    return;
  }
  restore(block->made);
  PALIMPSEST_SYNC_POINT("versioning.span_blocks.restored");
  word_of(*block, page) &= ~bit_of(page);
  if (--block->count == 0) {
    *link = block->next;
    --shard.count;
    free_block(block);
  }
  pages_.fetch_sub(1, std::memory_order_release);
}

// Caller holds the shard.
SpanBlocks::Block* SpanBlocks::make_block(Shard& shard, std::uint64_t range) noexcept {
  if (shard.count >= shard.buckets.size()) {
    grow(shard);
  }
  try {
    auto* const block = new (memory_.allocate(sizeof(Block))) Block();
    memory_.count_spans(1);
    block->range = range;
    block->next = std::exchange(bucket_of(shard, range), block);
    ++shard.count;
    return block;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void SpanBlocks::free_block(Block* block) noexcept {
  block->~Block();
  memory_.deallocate(block, sizeof(Block));
  memory_.count_spans(-1);
}

// Caller holds the shard. Growth may fail: chains are longer then.
void SpanBlocks::grow(Shard& shard) noexcept {
  std::vector<Block*> old;
  try {
    old.resize(2 * shard.buckets.size(), nullptr);
  } catch (const std::bad_alloc&) {
    return;
  }
  old.swap(shard.buckets);
  for (Block* block : old) {
    while (block != nullptr) {
      Block* const next = block->next;
      block->next = std::exchange(bucket_of(shard, block->range), block);
      block = next;
    }
  }
}

std::size_t SpanBlocks::prune_some(Gsn horizon) noexcept {
  if (pages() == 0) {
    return 0;
  }
  Shard& shard = shards_[next_shard_.fetch_add(1, std::memory_order_relaxed) % kShards];
  const std::scoped_lock lock(shard.mutex);
  return prune(shard, kPrunedBuckets, horizon);
}

std::size_t SpanBlocks::prune_all(Gsn horizon, FunctionRef<bool()> is_enough) noexcept {
  std::size_t pruned = 0;
  for (Shard& shard : shards_) {
    std::size_t buckets = kPrunedBuckets;  // at least so many
    for (std::size_t seen = 0; seen < buckets; seen += kPrunedBuckets) {
      if (is_enough()) {
        return pruned;
      }
      const std::scoped_lock lock(shard.mutex);
      buckets = shard.buckets.size();
      pruned += prune(shard, kPrunedBuckets, horizon);
    }
  }
  return pruned;
}

// Caller holds the shard.
std::size_t SpanBlocks::prune(Shard& shard, std::size_t buckets, Gsn horizon) noexcept {
  std::size_t pruned = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    shard.pruned_next = (shard.pruned_next + 1) & (shard.buckets.size() - 1);
    for (Block** link = &shard.buckets[shard.pruned_next]; *link != nullptr;) {
      Block* const block = *link;
      if (block->made.span.to > horizon) {
        link = &block->next;
        continue;
      }
      *link = block->next;
      --shard.count;
      ++pruned;
      pages_.fetch_sub(block->count, std::memory_order_release);
      free_block(block);
    }
  }
  return pruned;
}

}  // namespace palimpsest::versioning
