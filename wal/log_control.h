// The log's control file: where replay starts, and what must be known before it does.
//
// One block of 4 KiB in three copies, written in rotation and each made durable; the valid copy
// with the highest sequence number counts (as in the page file's header, and for the same reasons:
// buffer/file_header.h).
// Copies that are seen need not be durable: after a failed sync, and another failed one in the next
// opening (I-14 in docs/invariants.md), the only copy on the medium may be the oldest one seen,
// which is the next to be overwritten; and an even older copy names segments that have been reused.
// So opening a log that was not closed cleanly makes a new file, under another name first, and
// writes to none of the existing copies. A file under that other name has no meaning: it is removed
// if it cannot be finished, and by each opening for writing.
//
// On disk, one copy (little-endian; offsets in bytes):
//    0  8 magic "PLMPSCTL"           8  8 checksum of bytes [16, 4096)
//   16  4 format version            20  4 clean: 1 if nothing needs to be replayed
//   24 16 uuid of the database      40  8 sequence, raised by every write
//   48  8 size of a full segment    56  8 incarnation that writes, or wrote last
//   64 32 start: position, batch sequence, checksum of the batch before, lowest incarnation
//   96  8 batch sequence at which the incarnation began
//  104  4 note bytes               108  4 reserved
//  112    note: belongs to the layer above, opaque here; then zeros
// Failure: Error io_error, corruption, not_a_database, unsupported_version; they name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "wal/log_format.h"

namespace palimpsest::wal {

inline constexpr std::string_view kControlFileName = "log-control";
inline constexpr std::size_t kControlNoteBytesMax = 3072;

/// Where replay may have to begin, and what identifies the first batch there.
struct LogStart {
  StreamPosition position{};
  BatchSequence sequence{};             ///< of the first batch at or after the position
  std::uint64_t previous_checksum = 0;  ///< of the batch before it
  Incarnation incarnation{};            ///< of the batch before it; later batches have no lower one

  friend bool operator==(const LogStart&, const LogStart&) = default;
};

/// A position in the stream, and a GSN that no record before it exceeds.
struct LogMark {
  LogStart start;
  Gsn newest{};
};

struct ControlState {
  Uuid uuid{};
  std::uint64_t segment_bytes = 0;
  Incarnation incarnation{};
  /// Where the incarnation began: batches that older incarnations wrote with this sequence number
  /// or a higher one were discarded, and stay so.
  BatchSequence incarnation_begin{};
  LogStart start;
  bool clean = false;
  std::string note;  ///< at most kControlNoteBytesMax

  friend bool operator==(const ControlState&, const ControlState&) = default;
};

class LogControl {
 public:
  /// Creates the file, durably and atomically: under another name first. Throws already_exists.
  static std::unique_ptr<LogControl> create(io::Device& device, const ControlState& state);
  /// Opens and locks the file; unless `read_only`, removes an unfinished new file.
  static std::unique_ptr<LogControl> open(io::Device& device, bool read_only);
  /// Removes the file and an unfinished new one, if they exist.
  static void remove(io::Device& device);

  [[nodiscard]] const ControlState& state() const noexcept { return state_; }
  /// Alignment of the device's transfers.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept { return file_->alignment_bytes(); }
  /// Durable on return. One call at a time. Throws io_error, no_space, failed; afterwards the disk
  /// has the old or the new state, and state() is the old one.
  void write(const ControlState& next);
  /// Replaces the file, durably and with the same state, by a new one: the copies of the old one
  /// may be visible and not durable. On a full disk it overwrites the oldest copy instead. Throws
  /// io_error, no_space, failed, locked.
  void make_again();

 private:
  LogControl(io::Device& device, std::unique_ptr<io::File> file, ControlState state,
             std::uint64_t sequence, std::uint32_t next_copy);

  io::Device& device_;
  std::unique_ptr<io::File> replaced_;  ///< keeps the lock, for processes that opened it before
  std::unique_ptr<io::File> file_;
  ControlState state_;
  std::uint64_t sequence_;
  std::uint32_t next_copy_;
  AlignedMemory block_;
};

}  // namespace palimpsest::wal
