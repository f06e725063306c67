// An entry: the state of one record that lives in memory only, reached through the mapping table of
// its page: the writer that is changing the record, and the record's versions.
//
// An entry has its own memory and keeps its address while it exists, whatever happens to its page:
// tables hold pointers, and splits, merges and eviction move those. It exists only while it is
// needed: from a writer's first change of the record until after that writer's end, and as long as
// there are versions. Then it goes at once where its page is at hand (unchanged_page.h), and
// otherwise when the page is pruned.
//
// Terms: the *writer* of an entry has changed the record, has not ended, and has not undone all of
// that. Only the writer's own thread of control, the *owner*, uses the entry without the page's
// latch. An entry is *empty* if it has no writer and no versions, and no thread is at its chain.
//
// Which threads may read (r) and write (w) a field, under which latch. "Page" is the latch of the
// page with the table that holds the entry, or, while that table is an orphan, the orphan's shard.
//   tree, key, hash   r any thread that may use the entry; never written after it was entered
//   writer            r page shared or exclusive; w 0 -> id: page exclusive; w id -> 0: the owner,
//                     no latch
//   reserved_bytes    r page shared or exclusive; w page exclusive, through the table
//   counter           r the owner, and a thread with a version in the chain and the chain's latch;
//                     w page exclusive, through the table
//   changed_in        r any thread that knows the entry to exist; w page exclusive; a hint
// Invariants: (1) only its owner takes the writer away from an entry that has one;
//             (2) clearing the writer (release) is the owner's last access, unless it holds the
//                 page exclusively;
//             (3) hence a thread that holds the page exclusively and finds the entry empty, the
//                 clearing acquired, may take it out of its table, and free it or give it another
//                 key: no other thread can reach it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/prefetch.h"
#include "base/turn_latch.h"
#include "versioning/entry_memory.h"
#include "versioning/page_hint.h"

namespace palimpsest::versioning {

/// Names a writer among all that are active at the same time; 0 means "none".
enum class WriterId : std::uint64_t {};
inline constexpr WriterId kNoWriter{0};
/// In a conflict: the transaction that changed the record has committed, too late to be seen.
inline constexpr WriterId kCommittedSince{std::numeric_limits<std::uint64_t>::max()};

class Entry;
class Version;

struct EntryDeleter {
  EntryMemory* memory = nullptr;
  void operator()(Entry* entry) const noexcept;
};
/// An entry that is in no table.
using EntryPtr = std::unique_ptr<Entry, EntryDeleter>;

class Entry {
 public:
  /// An empty entry with room for a key of this length, and no key yet (rename). The key's bytes
  /// lie in the same piece of memory. Throws std::bad_alloc.
  [[nodiscard]] static EntryPtr make(EntryMemory& memory, std::size_t key_bytes);

  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  [[nodiscard]] TreeId tree() const noexcept { return tree_; }
  [[nodiscard]] ByteView key() const noexcept { return {key_bytes(), key_size_}; }
  [[nodiscard]] bool has_key(ByteView key) const noexcept {
    return key.size() == key_size_ && equal_bytes(key.data(), key_bytes(), key_size_);
  }
  [[nodiscard]] std::uint32_t hash() const noexcept { return hash_; }
  /// As many bits as fit beside an entry's address in one word (table_cell.h).
  static constexpr int kHashBits = 23;
  [[nodiscard]] static std::uint32_t hash_of(ByteView key) noexcept;

  [[nodiscard]] WriterId writer() const noexcept { return writer_.load(std::memory_order_acquire); }
  /// Whether the entry is not needed; a true answer stays so while the page is held exclusively. A
  /// thread that emptied the chain, under its latch, has left the chain by then.
  [[nodiscard]] bool is_empty() const noexcept { return writer() == kNoWriter && has_no_chain(); }
  /// Whether there are no versions, and no thread is at the chain; a true answer stays so while the
  /// page is held exclusively.
  [[nodiscard]] bool has_no_chain() const noexcept {
    return newest_.load(std::memory_order_acquire) == nullptr && chain_latch_.is_free();
  }

  /// Bytes of the page that the writer's change has freed and that no other change may use before
  /// the writer has ended, so that undoing the change always fits. Meaningless once the entry is
  /// empty.
  [[nodiscard]] std::uint32_t reserved_bytes() const noexcept { return reserved_bytes_; }

  // The chain of its versions (version.h)

  [[nodiscard]] TurnLatch& chain_latch() const noexcept { return chain_latch_; }
  /// Whether there are versions; a hint without the latch. A thread that finds none has acquired
  /// what the thread that took the last one knew: that a snapshot was cancelled for it
  /// (snapshots.h).
  [[nodiscard]] bool has_versions() const noexcept {
    return newest_.load(std::memory_order_acquire) != nullptr;
  }
  /// Under the latch: the newest version, or null.
  [[nodiscard]] Version* newest() const noexcept { return newest_.load(std::memory_order_relaxed); }
  /// Under the latch.
  void set_newest(Version* version) noexcept { newest_.store(version, std::memory_order_release); }
  /// The table's counter. For a thread that has a version in the chain.
  [[nodiscard]] EmptyCounter& counter() const noexcept {
    return *counter_.load(std::memory_order_relaxed);
  }

  /// Called once by the owner: the writer has ended. Needs no latch; the entry may be freed at any
  /// moment from here on.
  void release() noexcept;

  /// Memory, including the key.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return lines_ * kCacheLineBytes; }
  /// Whether an entry that is in no table has room for such a key (rename).
  [[nodiscard]] bool has_room_for(std::size_t key_bytes) const noexcept {
    return sizeof(Entry) + key_bytes <= size_bytes();
  }
  /// Makes an entry that is in no table the entry of another record; `hash`: hash_of(key).
  void rename(TreeId tree, ByteView key, std::uint32_t hash) noexcept;

  /// The page where the record was changed last, at its version after that change.
  [[nodiscard]] PageHint changed_in() const noexcept {
    return changed_in_.load(std::memory_order_relaxed);
  }
  /// For the thread that changes the record.
  void set_changed_in(PageHint page) noexcept {
    changed_in_.store(page, std::memory_order_relaxed);
  }

 private:
  friend class MappingTable;
  friend struct EntryDeleter;

  explicit Entry(std::uint8_t lines) noexcept : lines_(lines) {}
  ~Entry() = default;

  [[nodiscard]] const char* key_bytes() const noexcept {
    return static_cast<const char*>(static_cast<const void*>(this + 1));
  }

  std::atomic<WriterId> writer_{kNoWriter};
  std::atomic<Version*> newest_{nullptr};
  std::atomic<EmptyCounter*> counter_{nullptr};
  std::atomic<PageHint> changed_in_{PageHint()};
  TreeId tree_{kNoTree};
  std::uint32_t hash_ : kHashBits = 0;
  std::uint8_t lines_;  ///< of memory
  mutable TurnLatch chain_latch_;
  std::uint16_t reserved_bytes_ = 0;
  std::uint16_t key_size_ = 0;
};

static_assert(sizeof(Entry) == 48);

}  // namespace palimpsest::versioning
