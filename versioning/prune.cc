#include "versioning/prune.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "palimpsest/function_ref.h"

#include "versioning/version_buffer.h"

namespace palimpsest::versioning {
namespace {

using Piece = FunctionRef<void(std::uint16_t offset, ByteView bytes)>;

/// Calls use() for the parts of a run of the newer version that the older one does not cover.
void for_each_uncovered(std::uint16_t offset, ByteView bytes, ByteView older, Piece use) {
  const std::size_t end = offset + bytes.size();
  for (std::size_t at = offset; at < end;) {
    std::size_t covered_to = at;
    std::size_t next = end;
    for_each_run(older, [&](std::uint16_t begin, ByteView run) {
      if (begin <= at && at < begin + run.size()) {
        covered_to = begin + run.size();
      } else if (begin > at) {
        next = std::min<std::size_t>(next, begin);
      }
    });
    if (covered_to == at) {
      use(static_cast<std::uint16_t>(at), bytes.substr(at - offset, next - at));
      covered_to = next;
    }
    at = covered_to;
  }
}

void for_each_uncovered(ByteView newer, ByteView older, Piece use) {
  for_each_run(newer, [&](std::uint16_t offset, ByteView bytes) {
    for_each_uncovered(offset, bytes, older, use);
  });
}

constexpr std::size_t kRunHeaderBytes = 2 * sizeof(std::uint16_t);

std::size_t uncovered_bytes(ByteView newer, ByteView older) {
  std::size_t bytes = 0;
  for_each_uncovered(newer, older, [&](std::uint16_t, ByteView piece) {
    bytes += kRunHeaderBytes + piece.size();
  });
  return bytes;
}

void put(std::byte*& into, const void* from, std::size_t bytes) noexcept {
  std::memcpy(into, from, bytes);
  into += bytes;
}

void put(std::byte*& into, ByteView bytes) noexcept {
  put(into, bytes.data(), bytes.size());
}

/// Writes a patch that does what both do, the older one last.
void put_both(ByteView newer, ByteView older, MutableBytes into) {
  std::byte* at = into.data();
  put(at, older);
  for_each_uncovered(newer, older, [&](std::uint16_t offset, ByteView piece) {
    const auto length = static_cast<std::uint16_t>(piece.size());
    put(at, &offset, sizeof offset);
    put(at, &length, sizeof length);
    put(at, piece);
  });
}

/// Writes the newer version's value with the patch of the older one.
void put_patched(ByteView value, ByteView older, MutableBytes into) {
  std::memcpy(into.data(), value.data(), value.size());
  for_each_run(older, [&](std::uint16_t offset, ByteView bytes) {
    if (offset + bytes.size() <= into.size()) {
      std::memcpy(into.data() + offset, bytes.data(), bytes.size());
    }
  });
}

}  // namespace

bool Pruner::scan() noexcept {
  try {
    if (!has_scan_) {
      snapshots_.scan(scan_);
      has_scan_ = true;
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Pruner::begin_unseen() noexcept {
  constexpr Gsn kNone{std::numeric_limits<std::uint64_t>::max()};
  has_scan_ = false;
  if (scan()) {
    scan_.in_use.clear();
    scan_.being_taken = scan_.oldest_writer = kNone;
  }
}

bool Pruner::no_snapshot_between(Gsn from, Gsn to) const noexcept {
  if (to > scan_.clock || scan_.being_taken < to) {
    return false;
  }
  const auto next = std::ranges::lower_bound(scan_.in_use, from);
  return next == scan_.in_use.end() || *next >= to;
}

/// Makes the older version say what both say. False without memory.
bool Pruner::merge(const Version& newer, Version& older) noexcept {
  if (older.kind() == VersionKind::inserted || older.kind() == VersionKind::replaced ||
      newer.kind() == VersionKind::flags) {
    return true;  // it says so already
  }
  if (newer.kind() == VersionKind::inserted) {
    return false;  // the record was there before: each version is needed on its own
  }
  const bool patches = newer.kind() == VersionKind::patched;
  const ByteView newer_says = newer.payload();
  const ByteView older_says = older.payload();
  const std::size_t more = patches ? uncovered_bytes(newer_says, older_says) : newer_says.size();
  if (patches && more == 0) {
    return true;
  }
  const std::size_t bytes = patches ? older_says.size() + more : more;
  try {
    auto* both = new (memory_.allocate(sizeof(Elsewhere) + bytes)) Elsewhere{bytes};
    patches ? put_both(newer_says, older_says, both->payload())
            : put_patched(newer_says, older_says, both->payload());
    VersionBuffer::free_elsewhere(memory_, older);
    older.say(newer.kind(), both);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

/// Takes a version out of the chain: below `younger`, or the newest if that is null. First merges
/// it into `merged`, unless that is null.
bool Pruner::try_take_out(Entry& entry, Version* younger, Version& version,
                          Version* merged) noexcept {
  const std::unique_lock buffer(VersionBuffer::latch_of(version), std::try_to_lock);
  if (!buffer.owns_lock() || (merged != nullptr && !merge(version, *merged))) {
    return false;
  }
  younger != nullptr ? younger->set_older(version.older()) : entry.set_newest(version.older());
  VersionBuffer::drop(version);
  return true;
}

Gsn Pruner::seen_by_all() noexcept {
  if (!scan()) {
    return Gsn{0};
  }
  return std::min(
      {scan_.clock, scan_.being_taken, scan_.in_use.empty() ? scan_.clock : scan_.in_use.front()});
}

/// Takes out the versions that every snapshot sees.
void Pruner::prune_oldest(Entry& entry) noexcept {
  const Gsn seen_by_all = this->seen_by_all();
  Version* younger = nullptr;
  for (Version* version = entry.newest(); version != nullptr;) {
    Version* const older = version->older();
    const bool can_go = version->is_dated() && version->timestamp() <= seen_by_all;
    if (!can_go || !try_take_out(entry, younger, *version, nullptr)) {
      younger = version;
    }
    version = older;
  }
}

void Pruner::prune_between(Entry& entry) noexcept {
  Version* younger = nullptr;
  Version* version = entry.newest();
  while (version != nullptr && version->older() != nullptr) {
    Version* const older = version->older();
    const bool can_go = version->is_dated() && older->is_dated() &&
                        no_snapshot_between(older->timestamp(), version->timestamp());
    if (!can_go || !try_take_out(entry, younger, *version, older)) {
      younger = version;
    }
    version = older;
  }
}

/// For a ghost: takes out its only version if that says that there was no record before.
void Pruner::prune_last(Entry& entry) noexcept {
  Version* const version = entry.newest();
  if (version == nullptr || version->older() != nullptr || !version->is_dated() ||
      version->kind() != VersionKind::inserted) {
    return;
  }
  const Gsn date = version->timestamp();
  if (date <= scan_.clock && date <= scan_.oldest_writer) {
    static_cast<void>(try_take_out(entry, nullptr, *version, nullptr));
  }
}

bool Pruner::can_join(const Span& one, const Span& other) noexcept {
  const Span both = one.with(other);
  return one.is_empty() || other.is_empty() || (scan() && no_snapshot_between(both.from, both.to));
}

/// Whether a reader that looks at the span instead of the version sees the same.
bool Pruner::may_fold(const Version& version, const Span& into) const noexcept {
  const Gsn date = version.timestamp();
  const Span both = into.with({date, date});
  return date <= scan_.oldest_writer && no_snapshot_between(both.from, both.to);
}

namespace {

/// The mark that can replace the version, if one says as much. A version of a value that keeps
/// pages stays: the thread that collects it has those freed (ghost_hints.h).
std::optional<SpanKind> mark_for(const Version& version) noexcept {
  if (version.kind() == VersionKind::inserted) {
    return SpanKind::made;
  }
  const bool removes = version.kind() == VersionKind::flags && version.flags_before() == 0;
  return removes ? std::optional(SpanKind::removed) : std::nullopt;
}

}  // namespace

// Folds the oldest version first. Below a mark `made` there is nothing: a later change that no
// snapshot saw separately is a part of the insertion. A mark `removed` says that there was a value,
// which the version above it may have to bring back.
std::optional<SpanKind> Pruner::fold(Entry& entry, std::optional<SpanKind> mark,
                                     Spans& spans) noexcept {
  std::optional<SpanKind> gets;
  const std::lock_guard chain(entry.chain_latch());
  if (entry.newest() == nullptr || !scan()) {
    return gets;
  }
  prune_between(entry);
  while (entry.newest() != nullptr && mark != SpanKind::removed) {
    Version* younger = nullptr;
    Version* oldest = entry.newest();
    while (oldest->older() != nullptr) {
      younger = std::exchange(oldest, oldest->older());
    }
    const Gsn date = oldest->is_dated() ? oldest->timestamp() : Gsn{0};
    const auto into = mark ? mark : mark_for(*oldest);
    if (raw(date) == 0 || !into || !may_fold(*oldest, spans.of(*into)) ||
        !try_take_out(entry, younger, *oldest, nullptr)) {
      break;
    }
    spans.extend(*into, {date, date});
    gets = mark ? gets : into;
    mark = into;
    memory_.note_folded(date);
  }
  if (entry.newest() == nullptr) {
    count_empty(entry.counter());
  }
  return gets;
}

/// Returns whether the version has left its chain. Its buffer is latched. A version that says that
/// a record was removed stays: the thread that collects it has the record's leaf purged
/// (ghost_hints.h).
bool Pruner::try_merge_down(Version& version) noexcept {
  if (!scan()) {
    return false;
  }
  Entry& entry = version.entry();
  const std::lock_guard chain(entry.chain_latch());
  Version* const older = version.older();
  if (older == nullptr || !older->is_dated() || version.kind() == VersionKind::flags ||
      !no_snapshot_between(older->timestamp(), version.timestamp()) || !merge(version, *older)) {
    return false;
  }
  VersionBuffer::take_out(entry, version);
  return true;
}

void Pruner::merge_recent(VersionBuffer& buffer) noexcept {
  if (buffer.may_have_recent()) [[unlikely]] {
    buffer.visit_recent([&](Version& version) { return try_merge_down(version); });
  }
}

// The page is held, so the entry stays when its chain is empty.
void Pruner::prune(Entry& entry, Newest newest) noexcept {
  if (!scan()) {
    return;
  }
  const std::lock_guard chain(entry.chain_latch());
  if (entry.newest() == nullptr) {
    return;
  }
  prune_oldest(entry);
  prune_between(entry);
  if (newest == Newest::nothing) {
    prune_last(entry);
  }
  if (entry.newest() == nullptr) {
    count_empty(entry.counter());
  }
}

}  // namespace palimpsest::versioning
