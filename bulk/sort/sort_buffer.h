// Records in memory, in the order in which they came, and then sorted.
//
// Records are stored consecutively from the front; from the back grows one Entry per record: the
// head of its key, behind the bytes that all keys begin with, and its offset. Sorting moves entries
// only, and compares keys only if their heads are equal. So numbers of eight bytes, of which the
// first bytes seldom differ, are mostly told apart without a look at their records.
//
//   | lengths, key, value | lengths, key, value | ...        ... | entry 1 | entry 0 |
//
// Thread-safety: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "bulk/sort/record_source.h"

namespace palimpsest::bulk {

/// Precedes a record in memory and in blocks. In the machine's byte order: only the sort reads it.
struct RecordLengths {
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
};
static_assert(sizeof(RecordLengths) == 8);

/// The size of a record in a run of blocks.
[[nodiscard]] inline std::uint64_t stored_bytes(ByteView key, ByteView value) noexcept {
  return sizeof(RecordLengths) + key.size() + value.size();
}

class SortBuffer {
 public:
  struct Record {
    ByteView key;
    ByteView value;
  };
  /// What a record takes in addition to key and value.
  static constexpr std::size_t kOverheadBytes = sizeof(RecordLengths) + 2 * sizeof(std::uint64_t);

  /// Uses this memory, which is aligned for Entry.
  explicit SortBuffer(MutableBytes memory) noexcept
      : memory_(memory.first(memory.size() / sizeof(Entry) * sizeof(Entry))) {}

  /// False, with nothing added, if there is no room.
  [[nodiscard]] bool add(ByteView key, ByteView value) noexcept;
  /// Sorts by key; records with equal keys stay in the order of add().
  void sort() noexcept;
  void clear() noexcept {
    records_ = 0;
    used_ = 0;
    prefix_bytes_ = 0;
  }

  [[nodiscard]] std::size_t records() const noexcept { return records_; }
  /// Size of all records, with their lengths.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept { return used_; }
  /// The record with this rank; sort() was called after the last add().
  [[nodiscard]] Record record(std::size_t number) const noexcept {
    return at(entries()[number].offset);
  }

 private:
  struct Entry {
    std::uint64_t head;  ///< set by sort()
    std::uint64_t offset;
  };

  [[nodiscard]] Entry* entries() const noexcept {
    return reinterpret_cast<Entry*>(memory_.data() + memory_.size()) - records_;
  }
  [[nodiscard]] Record at(std::uint64_t offset) const noexcept;

  MutableBytes memory_;
  std::size_t records_ = 0;
  std::size_t used_ = 0;          ///< bytes from the front
  std::size_t prefix_bytes_ = 0;  ///< that all keys begin with
};

/// The records of a sorted buffer, which outlives this.
class BufferSource final : public RecordSource {
 public:
  explicit BufferSource(const SortBuffer& buffer) noexcept : buffer_(buffer) {}

  [[nodiscard]] bool next() override {
    if (next_ == buffer_.records()) {
      return false;
    }
    const SortBuffer::Record record = buffer_.record(next_++);
    show(record.key, record.value);
    return true;
  }

 private:
  const SortBuffer& buffer_;
  std::size_t next_ = 0;
};

}  // namespace palimpsest::bulk
