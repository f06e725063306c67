// The segment files of the log: made ahead, filled in order, reused.
//
// A segment in use has a number and lies between the oldest one that may be replayed and the newest
// one; the others are spare. A segment begins in the stream where the one before it ends: the
// position of a byte is that of its segment's first byte plus its offset there. Number, position
// and size of a segment are said in its header; files are named "log-0001" and so on, so reuse
// renames nothing.
//
// Sizes. A file keeps the size it was made with. The log begins with small files and makes each
// further one as large as all that there are together, up to segment_bytes: it doubles until it has
// grown to what it is used for. Spare files smaller than segment_bytes and than an eighth of all go
// when segments are given back, so that a log in steady use consists of whole segments: a small one
// costs a sync each time that the stream passes it. Rejected: files that grow in place, whose size
// would have to be durable before each batch behind the old end; a size that is the same for all
// and changes once, for which the log must be empty.
//
// A new file's space is reserved, and made durable with its size, before it counts: it reads as
// zeros from then on. Zeros are also written once, so that writing batches changes no metadata of
// the file system: when one is made because the stream needs it, before that; those of a new log
// by a thread, but for the first one's, so that the log can be used meanwhile (a new log took most
// of the time of a new database). A file is *bare* until its zeros are written, and is begun no
// earlier. The header's block is left out: a crash amid zeros leaves a spare segment whose batches
// are stale, whatever they hold.
//
// Invariants: (1) spare segments are zeroed or hold stale batches, and their space is reserved: the
//                 stream can be written into them on a full disk;
//             (2) a segment becomes spare only when the control file durably says that replay
//                 starts in a later one.
// Latching: one mutex over the tables, held briefly and never across I/O; another one is held while
//           a file is made, before it. begin() waits for the zeros of a file if there is no other.
// Thread-safety: all functions, from any thread; write() and begin() by one at a time.
// Failure: Error io_error, no_space, corruption, failed; segments that could not be made are
//          removed again and nothing has changed. Zeros that cannot be written beside say nothing:
//          the segment is as good without.
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
  /// The fewest files: one is written, one replayed from, and two are the margin of rollbacks.
  static constexpr std::uint32_t kFilesMin = 4;

  struct Options {
    std::uint64_t segment_bytes = 0;  ///< of the largest files; a multiple of 4096
    /// Of the smallest ones, which a new log begins with; 0: all have segment_bytes.
    std::uint64_t first_segment_bytes = 0;
    std::uint32_t segments_max = 0;  ///< all files together have as many bytes as these would have
    std::size_t alignment_bytes = kBatchAlignment;  ///< of the device's transfers
    Uuid uuid{};
  };

  using Place = SegmentPlace;

  /// Takes stock of the segment files of the directory. One whose header is zero, or that of a copy
  /// (batch_copy.h), is spare. One whose header is damaged gets a number beyond all others, so that
  /// the reader looks at what it says. One that is shorter than any segment and holds nothing, or
  /// zeros, was not made to its end and is removed. One that is shorter than its header says is
  /// corruption, and so is one that holds another one's number or lies over another one in the
  /// stream. A file that is none of these and smaller than segment_bytes is not this log's: it
  /// stays.
  Segments(io::Device& device, const Options& options, bool read_only);
  /// Removes all segments of a log that was never finished, whatever their size, and what was begun
  /// of some; files of others that have such a name stay.
  static void remove_all(io::Device& device);
  /// Whether files of this name are segments.
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
  /// Alignment of batches: the device's, at least kBatchAlignment.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept {
    return std::max(options_.alignment_bytes, kBatchAlignment);
  }
  /// The segment that holds this position; one that is not there, or not begun yet, is said to
  /// begin behind the one before it (as that may be missing too, its number is then a guess that is
  /// none of those there are) and to have segment_bytes.
  [[nodiscard]] Place place_at(StreamPosition at) const noexcept;
  /// The segment of this number, which is there.
  [[nodiscard]] Place place(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t number_of(StreamPosition at) const noexcept {
    return place_at(at).number;
  }
  [[nodiscard]] std::uint64_t offset_of(StreamPosition at) const noexcept {
    return raw(at) - raw(place_at(at).begin);
  }
  /// Where batches begin in a segment, which is there.
  [[nodiscard]] StreamPosition first_position(std::uint64_t number) const {
    return place(number).first_batch();
  }

  /// Where the batch behind `bytes` at `at` lies: in the next segment if that one is full.
  [[nodiscard]] StreamPosition behind(StreamPosition at, std::uint64_t bytes) const noexcept {
    const StreamPosition end = place_at(at).end();
    const StreamPosition next{raw(at) + bytes};
    return next == end ? StreamPosition{raw(end) + kSegmentHeaderBytes} : next;
  }

  /// The numbers in use or stale, ascending: all whose header is whole.
  [[nodiscard]] std::vector<std::uint64_t> numbers() const;
  [[nodiscard]] bool has(std::uint64_t number) const;
  /// Files there are, and those that may be begun at once.
  [[nodiscard]] std::uint32_t files() const;
  [[nodiscard]] std::uint32_t spare() const;
  /// Bytes of all files.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether make_one() makes none.
  [[nodiscard]] bool is_at_bound() const { return next_bytes(bytes()) == 0; }

  /// When the stream's end is known: segments outside [first, last] are spare from now on. Headers
  /// of those behind `last` are wiped, durably, because their numbers will be given again.
  void keep_only(std::uint64_t first, std::uint64_t last);
  /// Segments below `first` are spare from now on (invariant 2 is the caller's); how many bytes
  /// they have. Throws std::bad_alloc, with nothing changed.
  std::uint64_t release_before(std::uint64_t first);
  /// Removes spare segments beyond bytes_max(), and those that the log has outgrown, of at most so
  /// many bytes. One that cannot be removed stays, and is spare again when the log is opened the
  /// next time.
  void remove_surplus(std::uint64_t bytes_most);

  /// Makes one more segment, durably; how many bytes it has. 0 if bytes_max() leaves no room for
  /// one, unless `beyond_max`. Throws no_space.
  [[nodiscard]] std::uint64_t make_one(bool beyond_max);
  /// Makes segments until there are so many, durably, together, or none. If not `zeroed`, only the
  /// one that is begun next has its zeros. Throws no_space.
  void make_all(std::uint32_t count, bool zeroed);
  /// Has zeros written to all spare segments, by a thread: of a log that is new, or they are lost
  /// as stale batches are. Once.
  void zero_beside();

  /// Makes the largest spare segment number `number`, behind the last one; its header is durable
  /// with the next sync of it. There is a spare one.
  void begin(std::uint64_t number);
  /// Makes and begins one that lies where a segment of another log lies, of which it will be a
  /// copy.
  void begin_copy_of(const Place& other);
  /// Writes the header of a segment begun, again.
  void write_header(std::uint64_t number);
  /// Writes at a position of a segment begun. Sizes, positions and memory are aligned.
  void write(StreamPosition at, ConstBytes bytes);
  /// Makes a segment's writes durable.
  void sync(std::uint64_t number);
  /// Makes everything durable that any file shows, and the files' names: after the process that
  /// wrote it was killed.
  void sync_all();

  /// Writes `bytes` durably to the front of a spare segment that has as many, which stays spare,
  /// but of none of the files `kept`; makes one if there is no other. The file's plain name. Throws
  /// no_space.
  std::string write_spare(ConstBytes bytes, std::span<const std::string> kept);

  /// Reads from one segment. Positions, sizes and memory are aligned.
  void read(StreamPosition at, MutableBytes into) const;
  /// For messages: the segment's file, or which of them no file is.
  [[nodiscard]] std::string place_of(StreamPosition at) const;
  /// The file's name in the directory, without that.
  [[nodiscard]] std::string file_of(std::uint64_t number) const;
  /// The file's name, for messages.
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
  std::thread zeroing_;  // last: it uses the rest
};

}  // namespace palimpsest::wal
