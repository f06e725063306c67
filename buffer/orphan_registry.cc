#include "buffer/orphan_registry.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::buffer {

OrphanRegistry::OrphanRegistry(PageAttachment* attachment) : attachment_(attachment) {
  if (attachment == nullptr) {
    return;
  }
  for (Shard& shard : shards_) {
    shard.buckets.resize(kBucketsMin, nullptr);
  }
}

OrphanRegistry::~OrphanRegistry() {
  for (Shard& shard : shards_) {
    for (Attached* orphan : shard.buckets) {
      while (orphan != nullptr) {
        attachment_->destroy(*std::exchange(orphan, orphan->next_));
      }
    }
  }
}

bool OrphanRegistry::detach(Frame& frame, MutableBytes page) noexcept {
  Attached* attached = frame.attached.load(std::memory_order_relaxed);
  check(attachment_ != nullptr, "a pool whose pages have attachments has a PageAttachment");
  Hanging hanging{.what = attached, .page = page};
  if (!attachment_->prepare_detach(hanging)) {
    return false;
  }
  const PageId id = frame.page_id.load(std::memory_order_relaxed);
  attached = attachment_->detach(*attached, id);
  frame.hang(nullptr);
  if (attached != nullptr) {
    enter(id, *attached);
    PALIMPSEST_SYNC_POINT("buffer.orphan.entered");
  }
  return true;
}

void OrphanRegistry::enter(PageId page, Attached& orphan) noexcept {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  if (shard.count >= shard.buckets.size()) {
    grow(shard);
  }
  Attached*& first = bucket_of(shard, page);
  for (const Attached* other = first; other != nullptr; other = other->next_) {
    PALIMPSEST_DEBUG_CHECK(other->page_ != page, "a page has one orphan");
  }
  orphan.page_ = page;
  orphan.next_ = std::exchange(first, &orphan);
  ++shard.count;
  count_.fetch_add(1, std::memory_order_relaxed);  // before the swip names the page again
}

Attached* OrphanRegistry::take(PageId page) noexcept {
  Attached* orphan = nullptr;
  {
    Shard& shard = shard_of(page);
    const std::scoped_lock lock(shard.mutex);
    if (shard.count == 0) {
      return nullptr;
    }
    Attached** link = &bucket_of(shard, page);
    while (*link != nullptr && (*link)->page_ != page) {
      link = &(*link)->next_;
    }
    orphan = *link;
    if (orphan == nullptr) {
      return nullptr;
    }
    *link = std::exchange(orphan->next_, nullptr);
    --shard.count;
  }
  count_.fetch_sub(1, std::memory_order_release);
  return attachment_->attach(*orphan);
}

// Caller holds the shard. Growth may fail: chains are longer then.
void OrphanRegistry::grow(Shard& shard) noexcept {
  std::vector<Attached*> old;
  try {
    old.resize(2 * shard.buckets.size(), nullptr);
  } catch (const std::bad_alloc&) {
    return;
  }
  old.swap(shard.buckets);
  for (Attached* orphan : old) {
    while (orphan != nullptr) {
      Attached* next = orphan->next_;
      Attached*& first = bucket_of(shard, orphan->page_);
      orphan->next_ = std::exchange(first, orphan);
      orphan = next;
    }
  }
}

std::size_t OrphanRegistry::prune_some() noexcept {
  if (attachment_ != nullptr && attachment_->has_absorbed()) {
    attachment_->prune_some_absorbed();
  }
  if (count() == 0) {
    return 0;
  }
  Shard& shard = shards_[next_shard_.fetch_add(1, std::memory_order_relaxed) % kShards];
  const std::scoped_lock lock(shard.mutex);
  return prune_next(shard, std::min(kPrunedBuckets, shard.buckets.size()));
}

void OrphanRegistry::prune_all(FunctionRef<bool()> is_enough) noexcept {
  if (attachment_ != nullptr && attachment_->has_absorbed()) {
    attachment_->prune_all_absorbed(is_enough);
  }
  for (Shard& shard : shards_) {
    if (is_enough()) {
      return;
    }
    const std::scoped_lock lock(shard.mutex);
    prune_next(shard, shard.buckets.size());
  }
}

// Caller holds the shard.
std::size_t OrphanRegistry::prune_next(Shard& shard, std::size_t buckets) noexcept {
  std::size_t pruned = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    shard.pruned_next = (shard.pruned_next + 1) & (shard.buckets.size() - 1);
    for (Attached** link = &shard.buckets[shard.pruned_next]; *link != nullptr;) {
      Attached* next = (*link)->next_;
      if (attachment_->prune(**link)) {
        link = &(*link)->next_;
      } else {
        *link = next;
        --shard.count;
        ++pruned;
      }
    }
  }
  count_.fetch_sub(pruned, std::memory_order_release);
  return pruned;
}

}  // namespace palimpsest::buffer
