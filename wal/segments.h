// The segment files of the log: made ahead, filled in order, reused.
//
// A segment in use has a number and lies between the oldest one that may be replayed and the newest
// one; the others are spare. The stream position of a byte is its segment's number times the
// segment size plus its offset there. Files are named "log-0001" and so on; which numbers they hold
// is said in their headers, so reuse renames nothing.
//
// Invariants: (1) spare segments are zeroed or hold stale batches, and their space is reserved: the
//                 stream can be written into them on a full disk;
//             (2) a segment becomes spare only when the control file durably says that replay
//                 starts in a later one.
// Latching: one mutex over the tables, held briefly and never across I/O; another one is held while
//           a file is made, before it.
// Thread-safety: all functions, from any thread; write() and begin() by one at a time.
// Failure: Error io_error, no_space, corruption, failed; a segment that could not be made is
//          removed again and nothing has changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

class Segments {
 public:
  struct Options {
    std::uint64_t segment_bytes = 0;  ///< a multiple of 4096
    std::uint32_t segments_max = 0;
    std::size_t alignment_bytes = kBatchAlignment;  ///< of the device's transfers
    Uuid uuid{};
  };

  /// Takes stock of the segment files of the directory. One whose header is zero is spare. One
  /// whose header is damaged gets a number beyond all others, so that the reader looks at what it
  /// says. One that is too short was not made to its end and is removed, but it is corruption if
  /// its header is whole; corruption also if two hold one number.
  Segments(io::Device& device, const Options& options, bool read_only);

  [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
  [[nodiscard]] std::uint32_t segments_max() const noexcept { return options_.segments_max; }
  /// Alignment of batches: the device's, at least kBatchAlignment.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept {
    return std::max(options_.alignment_bytes, kBatchAlignment);
  }
  [[nodiscard]] std::uint64_t number_of(StreamPosition at) const noexcept {
    return raw(at) / options_.segment_bytes;
  }
  [[nodiscard]] std::uint64_t offset_of(StreamPosition at) const noexcept {
    return raw(at) % options_.segment_bytes;
  }
  /// Where batches begin in a segment.
  [[nodiscard]] StreamPosition first_position(std::uint64_t number) const noexcept {
    return StreamPosition{number * options_.segment_bytes + kSegmentHeaderBytes};
  }

  /// Where the batch behind `bytes` at `at` lies: in the next segment if that one is full.
  [[nodiscard]] StreamPosition behind(StreamPosition at, std::uint64_t bytes) const noexcept {
    const StreamPosition next{raw(at) + bytes};
    return offset_of(next) == 0 ? first_position(number_of(next)) : next;
  }

  /// The numbers in use or stale, ascending: all whose header is whole.
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
  [[nodiscard]] bool has(std::uint64_t number) const;
  /// Files there are, and those that may be begun at once.
  [[nodiscard]] std::uint32_t files() const;
  [[nodiscard]] std::uint32_t spare() const;

  /// When the stream's end is known: segments outside [first, last] are spare from now on. Headers
  /// of those behind `last` are wiped, durably, because their numbers will be given again.
  void keep_only(std::uint64_t first, std::uint64_t last);
  /// Segments below `first` are spare from now on (invariant 2 is the caller's); how many.
  std::uint32_t release_before(std::uint64_t first);

  /// Makes one more segment, durably. False if there are segments_max, unless `beyond_max`. Throws
  /// no_space.
  [[nodiscard]] bool make_one(bool beyond_max);

  /// Makes a spare segment number `number`; its header is durable with the next sync of it. There
  /// is a spare one.
  void begin(std::uint64_t number);
  /// Writes at a position of a segment begun. Sizes, positions and memory are aligned.
  void write(StreamPosition at, ConstBytes bytes);
  /// Makes a segment's writes durable.
  void sync(std::uint64_t number);
  /// Makes everything durable that any file shows, and the files' names: after the process that
  /// wrote it was killed.
  void sync_all();

  /// Reads from one segment. Positions, sizes and memory are aligned.
  void read(StreamPosition at, MutableBytes into) const;
  /// The file's name, for messages.
  [[nodiscard]] std::string name_of(std::uint64_t number) const;

 private:
  using SharedFile = std::shared_ptr<io::File>;

  void take_stock(bool read_only);
  void take(SharedFile file, MutableBytes block);
  [[nodiscard]] SharedFile find(std::uint64_t number) const;
  [[nodiscard]] SharedFile make_file(const std::string& name);

  io::Device& device_;
  const Options options_;
  std::mutex making_;
  std::uint32_t next_name_ = 1;  ///< protected by making_
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::map<std::uint64_t, SharedFile> in_use_;  ///< by number
  std::vector<SharedFile> spare_;
};

}  // namespace palimpsest::wal
