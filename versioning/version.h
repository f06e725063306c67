// A version: a record as it was before a change, kept in memory while a reader may want to see it.
//
// A record's versions form a chain, newest first, that begins at its entry. The page has the newest
// state; a reader goes back in time from there, taking back each change that its snapshot does not
// see, and stops at the first change that it sees: those behind are older. What a version says is
// absolute (these bytes were so). So taking back a change that was already undone on the page
// changes nothing: bytes that newer versions of the same transaction have put back, maybe bytes
// that the value does not have any more, are said again by the older ones.
//
// Payload by kind, after the header, without alignment:
//   inserted, flags   nothing
//   patched           runs: u16 offset, u16 length, the bytes that were there; flags as before
//   replaced          the value as it was; flags as before
// Runs of one version do not overlap. A version that has taken over what a younger one said
// (prune.h) may have outgrown its place: its payload lies elsewhere then, and the place holds a
// pointer.
//
// Which threads may read (r) and write (w) a field:
//   older, kind, payload        under the latch of the chain (Entry::chain_latch())
//   commit status, timestamp    r under that latch; w by the transaction, once, under the latch of
//                               its buffer: at() may run at the same time
//   is_dropped, had_older       under the latch of its buffer (version_buffer.h); the owner of a
//                               version that is not committed needs none
//   all other fields            never written after the version was linked
// Memory: the version buffer of the slot that made it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/sync_point.h"
#include "versioning/commit_status.h"

namespace palimpsest::versioning {

class Entry;

/// A flag of records: the value lies in pages of its own. Their other flags belong to the tree.
inline constexpr std::uint16_t kValueHasPages = 1;

enum class VersionKind : std::uint8_t {
  inserted = 1,  ///< there was no record, and no ghost
  flags,         ///< the value was the same
  patched,       ///< the value was as long, and differed in some bytes
  replaced,      ///< the value was a different one
};

/// A record as a reader sees it, at first as on its page. take_away(): there was none.
template <class Image>
concept RecordImage = requires(Image& image, std::uint16_t number, ByteView bytes) {
  image.take_away();
  image.set_flags(number);
  image.patch(number, bytes);
  image.replace(bytes);
};

/// Calls use(offset, bytes) for each run of a payload of kind `patched`.
template <class Use>
void for_each_run(ByteView payload, Use&& use) {
  while (!payload.empty()) {
    std::uint16_t offset = 0;
    std::uint16_t length = 0;
    std::memcpy(&offset, payload.data(), sizeof offset);
    std::memcpy(&length, payload.data() + sizeof offset, sizeof length);
    payload.remove_prefix(sizeof offset + sizeof length);
    use(offset, payload.substr(0, length));
    payload.remove_prefix(length);
  }
}

/// A payload that has outgrown its version's place; its bytes follow.
struct Elsewhere {
  std::uint64_t payload_bytes = 0;

  [[nodiscard]] MutableBytes payload() noexcept {
    return {reinterpret_cast<std::byte*>(this + 1), payload_bytes};
  }
  [[nodiscard]] ByteView payload() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), payload_bytes};
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return sizeof *this + payload_bytes; }
};

class Version {
 public:
  /// `place`: where it begins in its chunk, in bytes.
  Version(Entry& entry, const CommitStatus& commit_status, VersionKind kind,
          std::uint16_t flags_before, std::size_t payload_bytes, std::size_t place) noexcept
      : entry_(&entry),
        commit_status_(&commit_status),
        payload_bytes_(static_cast<std::uint16_t>(payload_bytes)),
        flags_before_(flags_before),
        place_words_(static_cast<std::uint16_t>(place / alignof(Version))),
        kind_(static_cast<std::uint8_t>(kind)) {}
  Version(const Version&) = delete;
  Version& operator=(const Version&) = delete;

  [[nodiscard]] Entry& entry() const noexcept { return *entry_; }
  [[nodiscard]] std::uint16_t flags_before() const noexcept { return flags_before_; }
  /// Filled before the version is linked.
  [[nodiscard]] MutableBytes new_payload() noexcept {
    return {reinterpret_cast<std::byte*>(this + 1), payload_bytes_};
  }
  [[nodiscard]] std::size_t place() const noexcept { return place_words_ * alignof(Version); }
  /// Memory, in whole words; at least one word lies behind the header.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes(payload_bytes_); }
  [[nodiscard]] static constexpr std::size_t size_bytes(std::size_t payload_bytes) noexcept {
    const std::size_t words = (payload_bytes + alignof(Version) - 1) / alignof(Version);
    return sizeof(Version) + (words == 0 ? 1 : words) * alignof(Version);
  }

  // Under the latch of its buffer: whether it was taken out of its chain early, and whether the
  // record had an older version when it was linked.

  [[nodiscard]] bool is_dropped() const noexcept { return (marks_ & kDropped) != 0; }
  void drop() noexcept { marks_ |= kDropped; }
  [[nodiscard]] bool had_older() const noexcept { return (marks_ & kHadOlder) != 0; }
  void note_older() noexcept { marks_ |= kHadOlder; }

  // Under the chain's latch:

  [[nodiscard]] Version* older() const noexcept { return older_; }
  void set_older(Version* older) noexcept { older_ = older; }
  [[nodiscard]] VersionKind kind() const noexcept {
    return VersionKind{static_cast<std::uint8_t>(kind_ & ~kElsewhere)};
  }
  [[nodiscard]] ByteView payload() const noexcept {
    if (const Elsewhere* const elsewhere = this->elsewhere()) [[unlikely]] {
      return elsewhere->payload();
    }
    return {reinterpret_cast<const char*>(this + 1), payload_bytes_};
  }
  /// Null if the payload lies in its place.
  [[nodiscard]] Elsewhere* elsewhere() const noexcept {
    if ((kind_ & kElsewhere) == 0) [[likely]] {
      return nullptr;
    }
    Elsewhere* at = nullptr;
    std::memcpy(static_cast<void*>(&at), static_cast<const void*>(this + 1), sizeof(Elsewhere*));
    return at;
  }
  /// Replaces kind and payload.
  void say(VersionKind kind, Elsewhere* payload) noexcept {
    std::memcpy(static_cast<void*>(this + 1), static_cast<const void*>(&payload),
                sizeof(Elsewhere*));
    kind_ = static_cast<std::uint8_t>(static_cast<std::uint8_t>(kind) | kElsewhere);
  }

  /// Whether this commit status is its transaction's.
  [[nodiscard]] bool is_of(const CommitStatus* commit_status) const noexcept {
    const CommitStatus* const of = commit_status_.load(std::memory_order_acquire);
    return of != nullptr && of == commit_status;
  }
  /// Called by its transaction, without the chain's latch: from now on it carries its date itself.
  void date(Gsn timestamp) noexcept {
    timestamp_ = timestamp;
    commit_status_.store(nullptr, std::memory_order_release);
  }
  [[nodiscard]] bool is_dated() const noexcept {
    return commit_status_.load(std::memory_order_acquire) == nullptr;
  }
  /// Of a version that is dated.
  [[nodiscard]] Gsn timestamp() const noexcept { return timestamp_; }
  /// Visibility of the change to a reader of this snapshot, and of the transaction `mine` or none.
  [[nodiscard]] Visibility at(Gsn snapshot, const CommitStatus* mine) const noexcept {
    if (const CommitStatus* const commit_status = commit_status_.load(std::memory_order_acquire)) {
      if (commit_status == mine) {
        return Visibility::visible;
      }
      PALIMPSEST_SYNC_POINT("versioning.at.undated");
      const Visibility visibility = commit_status->at(snapshot);
      if (commit_status_.load(std::memory_order_relaxed) == commit_status) {
        return visibility;  // otherwise it was dated meanwhile, and another writer may have it
      }
    }
    return is_dated() && timestamp() <= snapshot ? Visibility::visible : Visibility::invisible;
  }

  /// Takes the change back in a reader's image.
  template <RecordImage Image>
  void take_back(Image& image) const {
    switch (kind()) {
      case VersionKind::inserted: image.take_away(); return;
      case VersionKind::flags: break;
      case VersionKind::patched:
        for_each_run(payload(),
                     [&](std::uint16_t offset, ByteView bytes) { image.patch(offset, bytes); });
        break;
      case VersionKind::replaced: image.replace(payload()); break;
    }
    image.set_flags(flags_before_);
  }

 private:
  static constexpr std::uint8_t kElsewhere = 0x80;
  static constexpr std::uint8_t kDropped = 1;
  static constexpr std::uint8_t kHadOlder = 2;

  Version* older_ = nullptr;
  Entry* entry_;
  std::atomic<const CommitStatus*> commit_status_;  ///< null: dated
  Gsn timestamp_{};                                 ///< once it is dated
  std::uint16_t payload_bytes_;                     ///< in its place
  std::uint16_t flags_before_;
  std::uint16_t place_words_;
  std::uint8_t kind_;
  std::uint8_t marks_ = 0;
};

static_assert(sizeof(Version) == 40);

}  // namespace palimpsest::versioning
