#include "engine/recovery/redo_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "palimpsest/error.h"

#include "base/prefetch.h"
#include "btree/log/tree_redo.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {
namespace {

constexpr std::size_t kSlotsMin = 1024;
/// Prefetch distance in records: the bodies of a page's records are far apart in the window.
constexpr std::ptrdiff_t kPrefetchAhead = 8;
constexpr std::size_t kPrefetchBodyBytes = 128;
constexpr std::size_t kPrefetchPageBytes = std::size_t{8} << 10U;

/// A body is short, and crosses a cache line as often as not.
inline void prefetch_body(ConstBytes body) noexcept {
  const std::byte* end = body.data() + std::min(body.size(), kPrefetchBodyBytes);
  prefetch(body.data(), end);
  prefetch(end - 1, end);
}

std::size_t hash_of(PageId page) noexcept {
  const std::uint64_t product = raw(page) * 0x9E3779B97F4A7C15U;
  return product ^ (product >> 32U);
}

}  // namespace

RedoWorker::RedoWorker(const RecoveryAnalysis& analysis, buffer::PageFile& file,
                       buffer::PageWriter& writer, std::size_t frames_max, LostPages* lost)
    : analysis_(analysis),
      swips_(replay_swip_rule(file)),
      found_durable_(!writer.atomic_writes()),
      lost_(lost),
      pages_(file, writer, frames_max),
      slots_(kSlotsMin, kNone) {}

void RedoWorker::replay(const ReplayWindow& window, std::span<const ReplayItem> items) {
  count(items);
  // In ascending order, so that neighbours are read and written together.
  std::ranges::sort(touched_, {}, [&](std::uint32_t number) { return known_[number].id; });
  place(items);
  std::span<const std::uint32_t> rest(touched_);
  while (!rest.empty()) {
    const std::size_t count = std::min(rest.size(), pages_.group_pages());
    replay_group(window, rest.first(count));
    rest = rest.subspan(count);
  }
  touched_.clear();
}

// Finds the pages of the items, and counts the records of each.
void RedoWorker::count(std::span<const ReplayItem> items) {
  changes_ += items.size();
  numbers_.resize(items.size());
  for (std::size_t at = 0; at < items.size(); ++at) {
    const ReplayItem& item = items[at];
    const std::uint32_t number = number_of(item.page);
    Page& page = known_[number];
    if (item.record.gsn <= page.ended) {
      numbers_[at] = kNone;
      continue;
    }
    numbers_[at] = number;
    if (page.records++ == 0) {
      touched_.push_back(number);
      page.formatted = false;
    }
    page.formatted = page.formatted || item.record.formats;
  }
}

// Puts the records of each page behind those of the pages before it.
void RedoWorker::place(std::span<const ReplayItem> items) {
  std::uint32_t end = 0;
  for (const std::uint32_t number : touched_) {
    known_[number].end = end;
    end += known_[number].records;
  }
  records_.resize(end);
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (numbers_[at] != kNone) {
      records_[known_[numbers_[at]].end++] = items[at].record;
    }
  }
}

std::uint32_t RedoWorker::number_of(PageId id) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash_of(id) & mask; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    if (known_[slots_[slot]].id == id) {
      return slots_[slot];
    }
  }
  return add_page(id);
}

std::uint32_t RedoWorker::add_page(PageId id) {
  const auto number = static_cast<std::uint32_t>(known_.size());
  known_.push_back({.id = id,
                    .ended = std::max(analysis_.ended.gsn_of(id), analysis_.replayed_up_to),
                    .is_durable = found_durable_});
  if (known_.size() * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, kNone);
    for (std::uint32_t other = 0; other < number; ++other) {
      insert_slot(other);
    }
  }
  insert_slot(number);
  return number;
}

void RedoWorker::insert_slot(std::uint32_t number) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(known_[number].id) & mask;
  while (slots_[slot] != kNone) {
    slot = (slot + 1) & mask;
  }
  slots_[slot] = number;
}

void RedoWorker::replay_group(const ReplayWindow& window, std::span<const std::uint32_t> group) {
  pages_.begin_group();
  for (const std::uint32_t number : group) {
    if (pages_.holds(known_[number].frame, known_[number].id)) {
      pages_.touch(known_[number].frame);
    }
  }
  for (const std::uint32_t number : group) {
    take_frame(known_[number]);
    put_in_order(known_[number]);  // of all pages before any is applied, so that the next bodies
                                   // are known
  }
  load_group(group);
  for (std::size_t at = 0; at < group.size(); ++at) {
    if (at + 1 < group.size()) {
      prefetch_page(known_[group[at + 1]]);
    }
    Page& page = known_[group[at]];
    apply(page, window);
    page.records = 0;
  }
}

// What was lost is found again by new content, of which nothing before is needed.
void RedoWorker::take_frame(Page& page) {
  if (page.is_lost && page.formatted) {
    lost_->find_again(page.id);
    page.is_lost = false;
  }
  if (page.is_lost || pages_.holds(page.frame, page.id)) {
    return;
  }
  if (lost_ != nullptr && !pages_.has_place(page.id)) {
    lose(page);
    return;
  }
  page.frame = pages_.take(page.id, !page.formatted);
  if (page.formatted) {
    // Zero the header, so that the page is older than any record.
    std::memset(pages_.image(page.frame).data(), 0, sizeof(buffer::PageHeader));
  }
}

void RedoWorker::load_group(std::span<const std::uint32_t> group) {
  for (const ReplayFrame unread : pages_.load_group(lost_ != nullptr)) {
    for (const std::uint32_t number : group) {
      if (known_[number].frame == unread) {
        lose(known_[number]);
      }
    }
  }
}

void RedoWorker::lose(Page& page) {
  lost_->lose(page.id);
  if (pages_.holds(page.frame, page.id)) {
    pages_.forget(page.frame);
  }
  page.frame = kNoReplayFrame;
  page.is_lost = true;
}

void RedoWorker::prefetch_page(const Page& page) const noexcept {
  if (page.is_lost) {
    return;
  }
  const ConstBytes image = pages_.image(page.frame);
  prefetch(image.data(), image.data() + std::min(image.size(), kPrefetchPageBytes));
}

// Sorts the page's records by GSN, and drops those before the last one that gives it new content.
void RedoWorker::put_in_order(Page& page) noexcept {
  const std::span<ReplayRecord> records = records_of(page);
  if (!std::ranges::is_sorted(records, {}, &ReplayRecord::gsn)) {
    std::ranges::sort(records, {}, &ReplayRecord::gsn);
  }
  if (page.formatted) {
    const auto last = std::find_if(records.rbegin(), records.rend(),
                                   [](const ReplayRecord& record) { return record.formats; });
    page.records = static_cast<std::uint32_t>(last - records.rbegin() + 1);
  }
}

/// False: the page is lost.
bool RedoWorker::redo_one(Page& page, const ReplayWindow& window, const ReplayRecord& record) {
  try {
    btree::redo(window.body_of(record), page.id, pages_.image(page.frame), record.gsn, swips_);
    return true;
  } catch (const Error& error) {
    if (lost_ == nullptr) {
      throw Error(error.code(),
                  fmt::format("redo of the record with GSN {}: {}", raw(record.gsn), error.what()));
    }
    lose(page);
    return false;
  }
}

void RedoWorker::apply(Page& page, const ReplayWindow& window) {
  if (page.is_lost) {
    return;
  }
  const ConstBytes image = pages_.image(page.frame);
  const ReplayRecord* const behind_all = records_.data() + records_.size();
  Gsn page_gsn = buffer::header_of(image).gsn;
  std::uint64_t applied = 0;
  for (const ReplayRecord& record : records_of(page)) {
    if (behind_all - &record > kPrefetchAhead) {
      prefetch_body(window.body_of((&record)[kPrefetchAhead]));
    }
    if (record.gsn <= page_gsn) {
      continue;
    }
    if (!redo_one(page, window, record)) {
      return;
    }
    page_gsn = record.gsn;
    ++applied;
  }
  applied_ += applied;
  if (applied != 0 || !page.is_durable) {
    pages_.mark_dirty(page.frame);
    page.is_durable = true;
  }
}

RedoStatistics RedoWorker::statistics() const noexcept {
  return {.changes = changes_,
          .changes_applied = applied_,
          .pages_read = pages_.pages_read(),
          .pages_written = pages_.pages_written()};
}

}  // namespace palimpsest::engine
