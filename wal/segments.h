// The segment files of the log: made ahead, filled in order, reused.
//
// A segment in use has a number and lies between the oldest segment that may be replayed and the
// newest one; all other segments are spare. A segment begins in the stream where the one before it
// ends: the position of a byte is that of its segment's first byte plus its offset there. A
// segment's header states its number, position and size. Files are named "log-0001" and so on, and
// reuse does not rename them.
//
// Sizes. A file keeps the size it was made with. A log begins with small files and makes each
// further one as large as all existing ones together, up to segment_bytes: so it doubles until it
// fits its use. Giving back segments removes spare files smaller than segment_bytes and than an
// eighth of the log, so that a log in steady use consists of full segments: passing a small one
// costs the stream a sync. Rejected: files that grow in place, because their size would have to be
// durable before each batch behind the old end; and a common size that changes once, because the
// log must be empty for that.
//
// Zeros. A new file's space is reserved, and made durable with its size, before the file counts: it
// then reads as zeros. Zeros are also written once, so that writing batches changes no metadata of
// the file system. If the stream needs a file, they are written before it is used. In a new log, a
// thread writes them (except the first file's) while the log is used already; they took most of the
// time of creating a database. A file is *bare* until its zeros are written, and is not begun
// before. Zeros leave out the header's block: a crash while they are written leaves a spare segment
// whose content, whatever it is, counts as stale batches.
//
// Invariants: (1) spare segments are zeroed or hold stale batches, and their space is reserved: the
//                 stream can be written into them on a full disk;
//             (2) a segment becomes spare only when the control file durably says that replay
//                 starts in a later one.
// Latching: one mutex over the tables, held briefly and never across I/O; another one is held while
//           a file is made, and locked before it. begin() waits for zeros if every spare file is
//           bare.
// Thread-safety: all functions, from any thread; write() and begin() by one thread at a time.
// Failure: Error io_error, no_space, corruption, failed; segments that could not be made are
//          removed again and nothing has changed. The thread ignores errors of writing zeros: the
//          segment is usable without them.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

class Segments {
 public:
  /// The fewest files: one being written, one to replay from, and two as the margin for rollbacks.
  static constexpr std::uint32_t kFilesMin = 4;

  struct Options {
    std::uint64_t segment_bytes = 0;  ///< of the largest files; a multiple of 4096
    /// Size of the smallest files, with which a new log begins; 0: all have segment_bytes.
    std::uint64_t first_segment_bytes = 0;
    std::uint32_t segments_max = 0;  ///< bounds the total: that many of segment_bytes
    std::size_t alignment_bytes = kBatchAlignment;  ///< of the device's transfers
    Uuid uuid{};
  };

  using Place = SegmentPlace;

  /// Examines the segment files of the directory:
  /// - Its header is zero, another log's, or that of a copy (batch_copy.h): spare.
  /// - Its header is damaged: gets a number above all other numbers, so that the reader examines
  ///   it.
  /// - It is shorter than any segment and is empty or holds zeros: it was not finished, and is
  ///   removed.
  /// - It is shorter than its header says, or claims the number or a part of the stream of another
  ///   one: corruption.
  /// - Any other file smaller than segment_bytes is not this log's: left alone.
  Segments(io::Device& device, const Options& options, bool read_only);
  /// Removes all segments of a log that was never finished, whatever their size, and unfinished
  /// files; leaves foreign files with such names alone.
  static void remove_all(io::Device& device);
  /// Whether files with this name are segments.
  [[nodiscard]] static bool is_name(std::string_view name) noexcept;
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;
  /// Waits until all zeros are written.
  ~Segments();

  [[nodiscard]] const std::string& directory() const noexcept { return device_.path(); }
  [[nodiscard]] std::uint64_t segment_bytes() const noexcept { return options_.segment_bytes; }
  [[nodiscard]] std::uint64_t first_segment_bytes() const noexcept {
    return options_.first_segment_bytes;
  }
  [[nodiscard]] std::uint32_t segments_max() const noexcept { return options_.segments_max; }
  [[nodiscard]] std::uint64_t bytes_max() const noexcept {
    return options_.segments_max * options_.segment_bytes;
  }
  /// Alignment of batches: the device's, or kBatchAlignment if that is larger.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept {
    return std::max(options_.alignment_bytes, kBatchAlignment);
  }
  /// The segment that holds this position. If it is missing or not begun yet, the result begins
  /// behind the last one before the position, with segment_bytes; its number is a guess (more may
  /// be missing), but never that of an existing segment.
  [[nodiscard]] Place place_at(StreamPosition at) const noexcept;
  /// The segment with this number, which exists.
  [[nodiscard]] Place place(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t number_of(StreamPosition at) const noexcept {
    return place_at(at).number;
  }
  [[nodiscard]] std::uint64_t offset_of(StreamPosition at) const noexcept {
    return raw(at) - raw(place_at(at).begin);
  }
  /// The position of the first batch in a segment, which exists.
  [[nodiscard]] StreamPosition first_position(std::uint64_t number) const {
    return place(number).first_batch();
  }

  /// The position of the batch behind `bytes` at `at`: in the next segment if that one is full.
  [[nodiscard]] StreamPosition behind(StreamPosition at, std::uint64_t bytes) const noexcept {
    const StreamPosition end = place_at(at).end();
    const StreamPosition next{raw(at) + bytes};
    return next == end ? StreamPosition{raw(end) + kSegmentHeaderBytes} : next;
  }

  /// The numbers of all segments with a whole header, in use or stale; ascending.
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
  [[nodiscard]] bool has(std::uint64_t number) const;
  /// Number of all files, and of the spare ones.
  [[nodiscard]] std::uint32_t files() const;
  [[nodiscard]] std::uint32_t spare() const;
  /// Size of all files together.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether the bound lets make_one() make no further segment.
  [[nodiscard]] bool is_at_bound() const { return next_bytes(bytes()) == 0; }

  /// Called when the stream's end is known: makes segments outside [first, last] spare. Durably
  /// wipes the headers of those behind `last`, because their numbers will be reused.
  void keep_only(std::uint64_t first, std::uint64_t last);
  /// Makes segments below `first` spare (invariant 2 is the caller's duty); returns their total
  /// size. Throws std::bad_alloc, with nothing changed.
  std::uint64_t release_before(std::uint64_t first);
  /// Removes spare segments beyond bytes_max(), and those that the log has outgrown, of at most
  /// `bytes_most` in total. One that cannot be removed stays, and is spare again after the next
  /// opening.
  void remove_surplus(std::uint64_t bytes_most);

  /// Makes one more segment, durably, and returns its size; 0 if bytes_max() leaves no room for
  /// one, unless `beyond_max`. Throws no_space.
  [[nodiscard]] std::uint64_t make_one(bool beyond_max);
  /// Makes segments, durably, until there are `count`: all of them or none. Unless `zeroed`, only
  /// the one that is begun next has its zeros. Throws no_space.
  void make_all(std::uint32_t count, bool zeroed);
  /// Starts the thread that writes zeros to all spare segments: for a new log, because it
  /// overwrites stale batches. Once.
  void zero_beside();

  /// Makes the largest spare segment number `number`, behind the last one; its header is durable
  /// with the segment's next sync. A spare one exists.
  void begin(std::uint64_t number);
  /// Makes and begins a segment at the position of a segment of another log, to become a copy of
  /// it.
  void begin_copy_of(const Place& other);
  /// Rewrites the header of a segment in use.
  void write_header(std::uint64_t number);
  /// Writes at a position in a segment in use. Sizes, positions and memory are aligned.
  void write(StreamPosition at, ConstBytes bytes);
  /// Makes a segment's writes durable.
  void sync(std::uint64_t number);
  /// Makes durable all that any file shows, and the files' names: for the case that the process
  /// that wrote it was killed.
  void sync_all();

  /// Durably writes `bytes` to the front of a spare segment that is large enough, which stays
  /// spare; never to a file in `kept`. Makes a segment if there is no other. Returns the file's
  /// plain name. Throws no_space.
  std::string write_spare(ConstBytes bytes, std::span<const std::string> kept);

  /// Reads within one segment. Positions, sizes and memory are aligned.
  void read(StreamPosition at, MutableBytes into) const;
  /// For messages: the segment's file, or the number that no file has.
  [[nodiscard]] std::string place_of(StreamPosition at) const;
  /// The file's name within the directory.
  [[nodiscard]] std::string file_of(std::uint64_t number) const;
  /// The file's full name, for messages.
  [[nodiscard]] std::string name_of(std::uint64_t number) const;

 private:
  using SharedFile = std::shared_ptr<io::File>;
  struct Spare {
    SharedFile file;
    std::uint64_t bytes = 0;
    bool is_bare = false;  ///< its zeros are not written yet
  };
  struct InUse {
    SharedFile file;
    StreamPosition begin{};
    std::uint64_t bytes = 0;
  };
  using Numbered = std::map<std::uint64_t, InUse>;

  void take_stock(bool read_only);
  void take(SharedFile file, MutableBytes block);
  void require_apart() const;
  [[nodiscard]] static Place shown(const Numbered::value_type& entry) noexcept {
    return {.number = entry.first, .begin = entry.second.begin, .bytes = entry.second.bytes};
  }
  [[nodiscard]] SharedFile find(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t bytes_locked() const noexcept;
  [[nodiscard]] std::uint64_t next_bytes(std::uint64_t there) const noexcept;
  [[nodiscard]] std::vector<Spare>::iterator find_surplus(std::uint64_t bytes_most);
  void make(std::uint32_t count, std::uint32_t zeroed, std::uint64_t bytes);
  void remove(std::span<const std::string> names) noexcept;
  void zero_bare() noexcept;
  void take_spare(std::uint64_t number);
  [[nodiscard]] SharedFile find_spare(std::uint64_t bytes, std::span<const std::string> kept) const;

  io::Device& device_;
  const Options options_;
  std::mutex making_;
  std::uint32_t next_name_ = 1;  ///< protected by making_
  mutable std::mutex mutex_;
  std::condition_variable zeroed_;
  // Protected by mutex_:
  Numbered in_use_;  ///< by number, and so by position
  std::vector<Spare> spare_;
  std::thread zeroing_;  // last: it uses the other members
};

}  // namespace palimpsest::wal
