// The log's control file: where replay starts, and what must be known before it does.
//
// One block of 4 KiB in three copies, written in turn and each made durable; the valid copy with
// the highest sequence number counts (as the page file's header does, and for the same reasons:
// buffer/file_header.h).
// What is seen of the copies need not be durable: a sync has failed, and another one in the opening
// after that (I-14 in docs/invariants.md). The only copy on the medium may then be the oldest one
// that is seen, whose turn it is; and a copy from before it names segments that have been reused.
// So a log that was not closed cleanly gets a new file, under another name first, and none of the
// copies that there are is written to. Under that name a file is nobody's: it is removed if it
// cannot be finished, and by each opening for writing.
//
// On disk, one copy (little-endian; offsets in bytes):
//    0  8 magic "PLMPSCTL"           8  8 checksum of bytes [16, 4096)
//   16  4 format version            20  4 clean: 1 if nothing needs to be replayed
//   24 16 uuid of the database      40  8 sequence, raised by every write
//   48  8 size of a full segment    56  8 incarnation that writes, or wrote last
//   64 32 start: position, batch sequence, checksum of the batch before, lowest incarnation
//   96  8 batch sequence at which the incarnation began
//  104  4 note bytes               108  4 reserved
//  112    note: of the layer above, opaque here; then zeros
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

/// Where the stream begins that may have to be replayed, and by what its first batch is known.
struct LogStart {
  StreamPosition position{};
  BatchSequence sequence{};             ///< of the first batch at or after the position
  std::uint64_t previous_checksum = 0;  ///< of the batch before it
  Incarnation incarnation{};            ///< that of the batch before it; later ones are no lower

  friend bool operator==(const LogStart&, const LogStart&) = default;
};

/// A place in the stream, and a GSN that none of the records before it is above.
struct LogMark {
  LogStart start;
  Gsn newest{};
};

struct ControlState {
  Uuid uuid{};
  std::uint64_t segment_bytes = 0;
  Incarnation incarnation{};
  /// Where the incarnation began: what older ones wrote under this number or a higher one was
  /// discarded, and does not come back.
  BatchSequence incarnation_begin{};
  LogStart start;
  bool clean = false;
  std::string note;  ///< at most kControlNoteBytesMax

  friend bool operator==(const ControlState&, const ControlState&) = default;
};

class LogControl {
 public:
  /// Makes the file, durably and all at once: under another name first. Throws already_exists.
  static std::unique_ptr<LogControl> create(io::Device& device, const ControlState& state);
  /// Opens and locks it; unless only to read, removes what was begun of another one.
  static std::unique_ptr<LogControl> open(io::Device& device, bool read_only);
  /// Removes the file, and what was begun of one, if they are there.
  static void remove(io::Device& device);

  [[nodiscard]] const ControlState& state() const noexcept { return state_; }
  /// Of the device's transfers.
  [[nodiscard]] std::size_t alignment_bytes() const noexcept { return file_->alignment_bytes(); }
  /// Durable on return. One call at a time. Throws io_error, no_space, failed; the state is then
  /// the old or the new one on disk, and the old one here.
  void write(const ControlState& next);
  /// Makes the file again, durably and with the same state, in place of one whose copies may be
  /// seen and not be durable. On a full disk the state is written to the oldest copy. Throws
  /// io_error, no_space, failed, locked.
  void make_again();

 private:
  LogControl(io::Device& device, std::unique_ptr<io::File> file, ControlState state,
             std::uint64_t sequence, std::uint32_t next_copy);

  io::Device& device_;
  std::unique_ptr<io::File> replaced_;  ///< locked, for those who found it before
  std::unique_ptr<io::File> file_;
  ControlState state_;
  std::uint64_t sequence_;
  std::uint32_t next_copy_;
  AlignedMemory block_;
};

}  // namespace palimpsest::wal
