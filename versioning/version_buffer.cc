#include "versioning/version_buffer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/sync_point.h"
#include "versioning/unchanged_page.h"

namespace palimpsest::versioning {

VersionBuffer::~VersionBuffer() {
  check(new_count_ == 0 && !has_old(), "a version buffer ends without versions");
  while (first_.chunk != nullptr) {
    free_chunk(std::exchange(first_.chunk, first_.chunk->next));
  }
  if (spare_ != nullptr) {
    free_chunk(spare_);
  }
}

// Memory

std::byte* VersionBuffer::bytes_of(Chunk* chunk) noexcept {
  return static_cast<std::byte*>(static_cast<void*>(chunk + 1));
}

VersionBuffer::Chunk* VersionBuffer::chunk_of(Version& version) noexcept {
  void* const begin = static_cast<std::byte*>(static_cast<void*>(&version)) - version.place();
  return static_cast<Chunk*>(begin) - 1;
}

Version& VersionBuffer::at(const Place& place) noexcept {
  return *std::launder(
      static_cast<Version*>(static_cast<void*>(bytes_of(place.chunk) + place.offset)));
}

void VersionBuffer::prepare(std::size_t payload_bytes_max) {
  const std::size_t bytes = Version::size_bytes(payload_bytes_max);
  if (last_ == nullptr || last_->capacity - last_->used < bytes) [[unlikely]] {
    if (budget_ != nullptr) {
      budget_->require_room(*this);
    }
    add_chunk(bytes);
  }
}

void VersionBuffer::add_chunk(std::size_t bytes) {
  Chunk* chunk = nullptr;
  const std::lock_guard latch(latch_);
  if (spare_ != nullptr && spare_->capacity >= bytes) {
    chunk = std::exchange(spare_, nullptr);
  } else {
    const std::size_t capacity = std::max(kChunkBytesMin - sizeof(Chunk), kLargestPerChunk * bytes);
    chunk = new (memory_.allocate(sizeof(Chunk) + capacity)) Chunk;
    chunk->owner = this;
    chunk->capacity = static_cast<std::uint32_t>(capacity);
    size_bytes_.fetch_add(sizeof(Chunk) + capacity, std::memory_order_relaxed);
  }
  chunk->number = next_number_++;
  chunk->before = last_;
  if (last_ == nullptr) {
    first_ = new_first_ = {chunk, 0};
    recent_ = chunk;
  } else {
    last_->next = chunk;
  }
  last_ = chunk;
}

Version& VersionBuffer::append(Entry& entry, VersionKind kind, std::uint16_t flags_before,
                               std::size_t payload_bytes) noexcept {
  const std::size_t bytes = Version::size_bytes(payload_bytes);
  check(last_ != nullptr && last_->capacity - last_->used >= bytes, "a version is prepared");
  const std::size_t place = last_->used;
  void* const at = bytes_of(last_) + place;
  last_->used += static_cast<std::uint32_t>(bytes);
  ++last_->made;
  ++new_count_;
  new_bytes_ += bytes;
  return *new (at) Version(entry, commit_status_, kind, flags_before, payload_bytes, place);
}

void VersionBuffer::free_chunk(Chunk* chunk) noexcept {
  const std::size_t bytes = sizeof(Chunk) + chunk->capacity;
  size_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  memory_.deallocate(chunk, bytes);
}

// No version lies in the chunk any more. One chunk is kept: otherwise a transaction at the border
// of two chunks would free and allocate again.
void VersionBuffer::give_up(Chunk* chunk) noexcept {
  if (spare_ != nullptr) {
    free_chunk(chunk);
    return;
  }
  *chunk = {.owner = this, .capacity = chunk->capacity};
  spare_ = chunk;
}

void VersionBuffer::free_elsewhere(EntryMemory& memory, const Version& version) noexcept {
  if (Elsewhere* const elsewhere = version.elsewhere()) [[unlikely]] {
    memory.deallocate(elsewhere, elsewhere->size_bytes());
  }
}

// Chains

// A thread reaches an entry through its page, which the caller holds, or through one of its
// versions. So a chain that is empty, and at which no thread is, belongs to the caller alone.
bool VersionBuffer::link(Version& version) noexcept {
  Entry& entry = version.entry();
  if (entry.has_no_chain()) [[likely]] {
    entry.set_newest(&version);
    new_bytes_ += entry.size_bytes();
    return false;
  }
  const std::lock_guard latch(entry.chain_latch());
  version.set_older(entry.newest());
  if (version.older() != nullptr) {
    version.note_older();
  }
  entry.set_newest(&version);
  if (version.older() == nullptr || !version.older()->is_of(&commit_status_)) {
    new_bytes_ += entry.size_bytes();
  }
  return version.older() != nullptr && version.older()->older() != nullptr;
}

void VersionBuffer::take_out(Entry& entry, const Version& version) noexcept {
  if (entry.newest() == &version) {
    entry.set_newest(version.older());
    return;
  }
  Version* newer = entry.newest();
  while (newer->older() != &version) {
    newer = newer->older();
  }
  newer->set_older(version.older());
}

// Unless its page is held, the entry may be freed once its chain is empty and the latch released.
void VersionBuffer::unlink(Version& version, Writer* into) noexcept {
  Entry& entry = version.entry();
  UnchangedPage page(entry);
  entry.chain_latch().lock();
  take_out(entry, version);
  free_elsewhere(memory_, version);
  if (version.kind() == VersionKind::flags) {
    hints_.note(entry, (version.flags_before() & kValueHasPages) != 0);
  }
  PALIMPSEST_SYNC_POINT("versioning.unlink.taken");
  EmptyCounter* const emptied = entry.newest() == nullptr ? &entry.counter() : nullptr;
  entry.chain_latch().unlock();
  if (page.holds() && entry.is_empty()) {
    page.take_out(entry, into);
  } else if (emptied != nullptr) {
    count_empty(*emptied);
  }
}

// The running transaction

template <class Use>
void VersionBuffer::for_each_new(Place from, std::size_t count, Use&& use) noexcept {
  Place place = from;
  for (std::size_t left = count; left > 0; --left) {
    while (place.offset == place.chunk->used) {
      place = {place.chunk->next, 0};
    }
    Version& version = at(place);
    place.offset += static_cast<std::uint32_t>(version.size_bytes());
    use(version);
  }
}

// Under the buffer's latch: no version is dropped before all of them are dated.
void VersionBuffer::commit(Gsn timestamp) noexcept {
  if (new_count_ != 0) {
    const std::lock_guard latch(latch_);
    for_each_new(new_first_, new_count_, [&](Version& version) {
      PALIMPSEST_SYNC_POINT("versioning.commit.dating");
      version.date(timestamp);
    });
    if (!has_old()) {
      oldest_.store(timestamp, std::memory_order_relaxed);
    }
    newest_.store(timestamp, std::memory_order_relaxed);
    Chunk* const was_last = new_first_.chunk;
    new_first_ = {last_, last_->used};
    free_if_dropped(was_last);
  }
  end_transaction();
}

void VersionBuffer::abort() noexcept {
  take_back(new_first_, new_count_);
  end_transaction();
}

// If there were no versions at the mark, the first chunk may have been made since.
void VersionBuffer::abort_since(const VersionMark& mark) noexcept {
  take_back(mark.count == 0 ? new_first_ : mark.place, new_count_ - mark.count);
  new_count_ = mark.count;
  new_bytes_ = mark.bytes;
}

/// For the running transaction: chunks before its own are numbered lower, chunks in use stay.
bool VersionBuffer::is_new_since(Place from, Version& version) const noexcept {
  const Chunk* const chunk = chunk_of(version);
  const std::uint32_t first = new_first_.chunk->number;
  return chunk == from.chunk ? version.place() >= from.offset
                             : chunk->number - first > from.chunk->number - first;
}

// Takes out all versions of a record at once: if the older one went first, a reader would take back
// the newer change only, and see the state between them. They are the newest of their chain: no
// other transaction writes the record.
void VersionBuffer::take_back(Place from, std::size_t count) noexcept {
  if (count == 0) {
    return;
  }
  for_each_new(from, count, [&](Version& version) {
    PALIMPSEST_SYNC_POINT("versioning.abort.taking_out");
    --chunk_of(version)->made;
    Entry& entry = version.entry();
    const std::lock_guard latch(entry.chain_latch());
    while (entry.newest() != nullptr && entry.newest()->is_of(&commit_status_) &&
           is_new_since(from, *entry.newest())) {
      entry.set_newest(entry.newest()->older());
    }
  });
  rewind(from);
}

/// Reuses the memory of the running transaction's versions from `to` on for those to come.
void VersionBuffer::rewind(Place to) noexcept {
  last_ = to.chunk;
  last_->used = to.offset;
  const std::lock_guard latch(latch_);
  for (Chunk* chunk = std::exchange(last_->next, nullptr); chunk != nullptr;) {
    give_up(std::exchange(chunk, chunk->next));
  }
}

void VersionBuffer::end_transaction() noexcept {
  last_count_ = std::exchange(new_count_, 0);
  new_bytes_ = 0;
  commit_status_.begin();
}

// Versions of committed transactions

/// Runs ahead of a collecting thread and prefetches what it will read. The entry of a version that
/// was kept for long, the entry's page and that page's table lie in no cache, and each is found
/// through the one before. latch_ held: no other thread drops a version or frees a chunk, and an
/// entry stays as long as it has a version that is not dropped.
class VersionBuffer::LookAhead {
 public:
  LookAhead(VersionBuffer& buffer, Gsn horizon) noexcept
      : buffer_(buffer), horizon_(horizon), place_(buffer.first_) {
    for (std::size_t i = 0; i < kVersions; ++i) {
      go_on();
    }
  }
  /// The version at first_ is next.
  void go_on() noexcept {
    Version*& slot = seen_[turn_ % kVersions];
    slot = next();
    if (slot != nullptr) {
      prefetch_line(&slot->entry());
    }
    if (const Version* const version = seen_[(turn_ + kToFrame) % kVersions]) {
      prefetch_line(version->entry().changed_in().frame());
    }
    if (const Version* const version = seen_[(turn_ + kToTable) % kVersions]) {
      if (const buffer::Frame* const frame = version->entry().changed_in().frame()) {
        prefetch_line(frame->attached.load(std::memory_order_relaxed));
      }
    }
    ++turn_;
  }

 private:
  static constexpr std::size_t kVersions = 12;
  static constexpr std::size_t kToFrame = kVersions - 4;  ///< four steps after the entry
  static constexpr std::size_t kToTable = kVersions - 8;

  /// Null if it has been dropped, or there is none that will be collected.
  [[nodiscard]] Version* next() noexcept {
    while (place_.chunk != buffer_.new_first_.chunk && place_.offset == place_.chunk->used) {
      place_ = {place_.chunk->next, 0};
    }
    if (place_ == buffer_.new_first_) {
      return nullptr;
    }
    Version& version = at(place_);
    if (version.timestamp() > horizon_) {
      return nullptr;
    }
    place_.offset += static_cast<std::uint32_t>(version.size_bytes());
    return version.is_dropped() ? nullptr : &version;
  }

  VersionBuffer& buffer_;
  Gsn horizon_;
  Place place_;
  std::size_t turn_ = 0;
  std::array<Version*, kVersions> seen_{};
};

void VersionBuffer::collect(Gsn horizon, FunctionRef<bool()> is_enough) noexcept {
  while (oldest() <= horizon && collect_some(horizon, kAtATime) && !is_enough()) {
  }
}

void VersionBuffer::collect_few(Gsn horizon, Writer* into) noexcept {
  own_horizon_ = horizon;
  if (oldest() <= horizon) {
    static_cast<void>(collect_some(horizon, kAtATime + 2 * last_count_, into));
  }
}

// Only tries the latch: a thread that had waited for it would count as its own waiter
// (TurnLatch::is_wanted()), and give way at once.
bool VersionBuffer::collect_aside(Gsn horizon) noexcept {
  while (oldest() <= horizon && latch_.try_lock()) {
    const std::lock_guard latch(latch_, std::adopt_lock);
    if (collect_latched(horizon, kAtATime, nullptr, [&] { return latch_.is_wanted(); })) {
      break;
    }
  }
  return oldest() > horizon;
}

/// Collects at most `most`; returns whether there are more.
bool VersionBuffer::collect_some(Gsn horizon, std::size_t most, Writer* into) noexcept {
  const std::lock_guard latch(latch_);
  static_cast<void>(collect_latched(horizon, most, into, [] { return false; }));
  return oldest() <= horizon;
}

/// As collect_some() with the latch held, until gives_way(). Returns whether it gave way.
template <class GivesWay>
bool VersionBuffer::collect_latched(Gsn horizon, std::size_t most, Writer* into,
                                    GivesWay gives_way) noexcept {
  bool gave_way = false;
  const auto may_go = [&] { return !has_no_old() && at(first_).timestamp() <= horizon; };
  if (may_go()) {
    LookAhead ahead(*this, horizon);
    for (std::size_t looked_at = 0; looked_at < most && may_go() && !gave_way; ++looked_at) {
      Version& version = at(first_);
      if (!version.is_dropped()) {
        unlink(version, into);
      }
      first_.offset += static_cast<std::uint32_t>(version.size_bytes());
      ahead.go_on();
      gave_way = gives_way();
    }
  }
  const Gsn oldest = has_no_old() ? kNone : at(first_).timestamp();
  oldest_.store(oldest, std::memory_order_relaxed);
  return gave_way;
}

/// Whether no committed version is left. Otherwise the first one is at first_, and chunks before it
/// are gone. The owner may be adding versions behind new_first_ meanwhile: those are not looked at.
bool VersionBuffer::has_no_old() noexcept {
  while (first_.chunk != new_first_.chunk && first_.offset == first_.chunk->used) {
    Chunk* const gone = std::exchange(first_.chunk, first_.chunk->next);
    first_ = {first_.chunk, 0};
    first_.chunk->before = nullptr;
    recent_ = recent_ == gone ? first_.chunk : recent_;
    give_up(gone);
  }
  return first_ == new_first_;
}

void VersionBuffer::trim() noexcept {
  const std::lock_guard latch(latch_);
  if (spare_ != nullptr) {
    free_chunk(std::exchange(spare_, nullptr));
  }
  if (new_count_ == 0 && last_ != nullptr && has_no_old()) {
    for (Chunk* chunk = first_.chunk; chunk != nullptr;) {  // one may be prepared and not used
      free_chunk(std::exchange(chunk, chunk->next));
    }
    first_ = new_first_ = {};
    last_ = recent_ = nullptr;
  }
}

// Frees a chunk once it has been gone through, if all its versions were dropped. Leaves a part of a
// large transaction to the next calls: other threads may want to collect.
void VersionBuffer::visit_recent(FunctionRef<bool(Version&)> visit) noexcept {
  const std::lock_guard latch(latch_);
  for (std::size_t visited = 0; has_recent() && visited < kAtATime;) {
    Chunk* const chunk = recent_;
    const std::uint32_t from = chunk == first_.chunk ? first_.offset : 0;
    for (Place place{chunk, from}; place.offset != chunk->used; ++visited) {
      Version& version = at(place);
      place.offset += static_cast<std::uint32_t>(version.size_bytes());
      if (!version.is_dropped() && version.had_older() && visit(version)) {
        free_elsewhere(memory_, version);
        version.drop();
        ++chunk->dropped;
      }
    }
    recent_ = chunk->next;
    free_if_dropped(chunk);
  }
  if (!has_recent()) {
    visited_for_ = next_number_;
  }
}

/// A place at or before the first committed version with a larger date: in the chunk of that
/// version or, if that version is the first in its chunk, in the chunk before.
VersionBuffer::Place VersionBuffer::first_above(Gsn date) noexcept {
  Chunk* chunk = new_first_.chunk;
  std::uint32_t end = new_first_.offset;
  while (chunk != first_.chunk) {
    if (end != 0 && at({chunk, 0}).timestamp() <= date) {
      return {chunk, 0};
    }
    chunk = chunk->before;
    end = chunk->used;
  }
  return first_;
}

bool VersionBuffer::visit_dated(Gsn after, Gsn upto,
                                FunctionRef<bool(const Version&)> visit) noexcept {
  if (newest_.load(std::memory_order_relaxed) <= after) {
    return true;  // the caller has seen the next transaction's status, or a later one's
  }
  const std::lock_guard latch(latch_);
  if (has_no_old()) {
    return true;
  }
  for (Place place = first_above(after); place != new_first_;) {
    if (place.chunk != new_first_.chunk && place.offset == place.chunk->used) {
      place = {place.chunk->next, 0};
      continue;
    }
    const Version& version = at(place);
    place.offset += static_cast<std::uint32_t>(version.size_bytes());
    if (version.timestamp() > upto) {
      return true;
    }
    if (version.timestamp() > after && !version.is_dropped() && !visit(version)) {
      return false;
    }
  }
  return true;
}

TurnLatch& VersionBuffer::latch_of(Version& version) noexcept {
  return chunk_of(version)->owner->latch_;
}

void VersionBuffer::drop(Version& version) noexcept {
  Chunk* const chunk = chunk_of(version);
  free_elsewhere(chunk->owner->memory_, version);
  version.drop();
  ++chunk->dropped;
  if (chunk != chunk->owner->new_first_.chunk) {
    chunk->owner->free_if_dropped(chunk);
  }
}

/// For a chunk of committed versions only.
void VersionBuffer::free_if_dropped(Chunk* chunk) noexcept {
  if (chunk->dropped == chunk->made && chunk != first_.chunk && chunk != new_first_.chunk) {
    chunk->before->next = chunk->next;
    chunk->next->before = chunk->before;
    recent_ = recent_ == chunk ? chunk->next : recent_;
    give_up(chunk);
  }
}

}  // namespace palimpsest::versioning
