#include "engine/recovery/redo_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/prefetch.h"
#include "btree/tree_redo.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kSlotsMin = 1024;
/// Bodies of a page's records lie far apart in the window.
constexpr std::size_t kPrefetchAhead = 4;

[[gnu::always_inline]] inline void prefetch_body(ConstBytes body) noexcept {
  prefetch(body.data(), body.data() + std::min<std::size_t>(body.size(), 128));
}

std::size_t hash_of(PageId page) noexcept {
  const std::uint64_t product = raw(page) * 0x9E3779B97F4A7C15U;
  return product ^ (product >> 32U);
}

}  // namespace

RedoWorker::RedoWorker(const RecoveryAnalysis& analysis, buffer::PageFile& file,
                       buffer::PageWriter& writer, std::size_t frames_max)
    : analysis_(analysis),
      swips_(replay_swip_rule(file)),
      pages_(file, writer, frames_max),
      slots_(kSlotsMin, kNone) {}

void RedoWorker::replay(const ReplayWindow& window, std::span<const ReplayItem> items) {
  collect(items);
  // Ascending, so that neighbours are read and written together.
  std::ranges::sort(touched_, {}, [&](std::uint32_t number) { return known_[number].id; });
  std::span<const std::uint32_t> rest(touched_);
  while (!rest.empty()) {
    const std::size_t count = std::min(rest.size(), pages_.group_pages());
    replay_group(window, items, rest.first(count));
    rest = rest.subspan(count);
  }
  touched_.clear();
}

// Finds the pages of the items, and links each page's items.
void RedoWorker::collect(std::span<const ReplayItem> items) {
  changes_ += items.size();
  earlier_.resize(items.size());
  for (std::uint32_t at = 0; at < items.size(); ++at) {
    Page& page = page_of(items[at].page);
    if (items[at].gsn <= page.ended) {
      continue;
    }
    if (page.newest_item == kNone) {
      touched_.push_back(static_cast<std::uint32_t>(&page - known_.data()));
    }
    earlier_[at] = page.newest_item;
    page.newest_item = at;
    page.formatted = page.formatted || items[at].formats;
  }
}

RedoWorker::Page& RedoWorker::page_of(PageId id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(id) & mask;
  while (slots_[slot] != kNone) {
    if (Page& page = known_[slots_[slot]]; page.id == id) {
      return page;
    }
    slot = (slot + 1) & mask;
  }
  const auto number = static_cast<std::uint32_t>(known_.size());
  known_.push_back(
      {.id = id, .ended = std::max(analysis_.ended.gsn_of(id), analysis_.replayed_up_to)});
  if (known_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, kNone);
    for (std::uint32_t other = 0; other < number; ++other) {
      insert_slot(other);
    }
  }
  insert_slot(number);
  return known_.back();
}

void RedoWorker::insert_slot(std::uint32_t number) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(known_[number].id) & mask;
  while (slots_[slot] != kNone) {
    slot = (slot + 1) & mask;
  }
  slots_[slot] = number;
}

void RedoWorker::replay_group(const ReplayWindow& window, std::span<const ReplayItem> items,
                              std::span<const std::uint32_t> group) {
  pages_.begin_group();
  for (const std::uint32_t number : group) {
    if (pages_.holds(known_[number].frame, known_[number].id)) {
      pages_.touch(known_[number].frame);
    }
  }
  for (const std::uint32_t number : group) {
    take_frame(known_[number]);
  }
  pages_.load_group();
  for (const std::uint32_t number : group) {
    Page& page = known_[number];
    gather(page, window, items);
    apply(page, window);
    page.newest_item = kNone;
    page.formatted = false;
  }
}

void RedoWorker::take_frame(Page& page) {
  if (pages_.holds(page.frame, page.id)) {
    return;
  }
  page.frame = pages_.take(page.id, !page.formatted);
  if (page.formatted) {
    // Older than any record.
    std::memset(pages_.image(page.frame).data(), 0, sizeof(buffer::PageHeader));
  }
}

// The items of the page from the last one on that gives it new content, in the order of GSNs.
void RedoWorker::gather(const Page& page, const ReplayWindow& window,
                        std::span<const ReplayItem> items) {
  chain_.clear();
  for (std::uint32_t at = page.newest_item; at != kNone; at = earlier_[at]) {
    chain_.push_back(&items[at]);
    prefetch_body(window.body_of(items[at]));
  }
  std::ranges::reverse(chain_);
  const auto gsn = [](const ReplayItem* item) { return item->gsn; };
  if (!std::ranges::is_sorted(chain_, {}, gsn)) {
    std::ranges::sort(chain_, {}, gsn);
  }
  if (page.formatted) {
    const auto last = std::find_if(chain_.rbegin(), chain_.rend(),
                                   [](const ReplayItem* item) { return item->formats; });
    chain_.erase(chain_.begin(), std::next(last).base());
  }
}

void RedoWorker::apply(Page& page, const ReplayWindow& window) {
  const MutableBytes image = pages_.image(page.frame);
  Gsn page_gsn = buffer::header_of(image).gsn;
  for (std::size_t at = 0; at < chain_.size(); ++at) {
    if (at + kPrefetchAhead < chain_.size()) {
      prefetch_body(window.body_of(*chain_[at + kPrefetchAhead]));
    }
    const ReplayItem* item = chain_[at];
    if (item->gsn <= page_gsn) {
      continue;
    }
    try {
      btree::redo(window.body_of(*item), page.id, image, item->gsn, swips_);
    } catch (const Error& error) {
      throw Error(error.code(),
                  fmt::format("redo of the record with GSN {}: {}", raw(item->gsn), error.what()));
    }
    page_gsn = item->gsn;
    ++applied_;
    pages_.mark_dirty(page.frame);
  }
}

RedoStatistics RedoWorker::statistics() const noexcept {
  return {.changes = changes_,
          .changes_applied = applied_,
          .pages_read = pages_.pages_read(),
          .pages_written = pages_.pages_written()};
}

}  // namespace palimpsest::engine
