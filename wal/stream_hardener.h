// Makes durable what opening has found of the stream, before anything is built on it.
//
// Batches that no later batch states durable may be visible and yet not be on the medium: after a
// failed sync the device's cache may show what was lost, and the next sync succeeds (Rebello et
// al., ATC 2020). If they were replayed, or stated durable by batches appended behind them, a power
// failure would leave pages ahead of their log, or a log with a hole. So they are *unstated*, and
// are rewritten in place, with their segment's header; syncing alone is not enough. The last of
// them may also have been acknowledged and be durable, with only their presence to show it. So a
// power failure in the middle of rewriting the same bytes must not lose them either (a sector in
// flight may become anything). Hence, when the end of the stream is known:
//   1  the control file is made again: segments that its start releases may now be reused
//   2  the batches are copied into a spare segment, and that is synced
//   3  header and batches are rewritten in place, and synced
//   4  beginning an incarnation writes it to the control file: copies of older ones become void
// And when a log that was not closed cleanly is opened, before anything of it is read:
//   0  batches in place are replaced by a copy, if there is one and they differ from it
// Records are replayed, and anything is appended, only after 3.
//
// Invariants: (1) a copy that is not void and differs from the bytes in place is durable: only 3
//                 makes them differ, and 3 comes after the sync of 2. Until 4 is durable nothing
//                 else writes to the stream, so that no copy is older than what it replaces;
//             (2) of several copies of one position that are not void, the oldest is kept until 4,
//                 and 2 writes to another file. If bytes in place were torn when the power failed,
//                 that copy was found then, and so is durable. If not, what was acknowledged is in
//                 place as before, since 2 does not touch it and 3 has its own copy.
// Crash points: in 1, the old control file is untouched; in 2, nothing in place was touched; in 3
// and before 4 is durable, 0 and all the rest are repeated, with the same bytes. The unstated
// batches lie in one segment, as a segment is synced before a later one is written: so only one
// round's batches are rewritten, twice. A log that was closed cleanly has none.
//
// Thread-safety: none. Failure: Error io_error, no_space, failed, corruption if what was found can
// no longer be read; the log can be opened again, and has lost nothing.
// On disk: batch_copy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "wal/batch_copy.h"
#include "wal/log_control.h"
#include "wal/log_reader.h"
#include "wal/segments.h"

namespace palimpsest::wal {

class StreamHardener {
 public:
  /// Step 0, for a log opened for writing; before its segments are examined.
  StreamHardener(io::Device& device, const ControlState& control);

  /// Steps 1 to 3; 2 and 3 if `end` names unstated batches. Does nothing if the log was closed
  /// cleanly.
  void harden(LogControl& control, Segments& segments, const LogEnd& end);

 private:
  struct Found {
    std::string name;  ///< of the file that contains the copy
    BatchCopy copy;
  };

  [[nodiscard]] static std::vector<Found> find_copies(io::Device& device,
                                                      const ControlState& control);
  [[nodiscard]] static bool restore(io::Device& device, const ControlState& control,
                                    const Found& found);
  void write_again(const ControlState& control, Segments& segments, const StreamPart& part,
                   std::uint64_t& previous_checksum);

  std::vector<std::string> kept_;  ///< files with copies that must not be overwritten
  std::uint64_t next_turn_ = 1;
};

}  // namespace palimpsest::wal
