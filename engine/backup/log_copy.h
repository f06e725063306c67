// Copies the stream of a log that is being written into segments of another log.
//
// Thread-safety: belongs to the thread that copies.
// Failure: Error no_space if the log had to be reused before it was copied, or the copy's disk is
// full; io_error, corruption.
#pragma once

#include <cstdint>

#include "base/aligned_memory.h"
#include "base/io/device.h"
#include "wal/log_control.h"
#include "wal/replay_start.h"
#include "wal/segments.h"

namespace palimpsest::engine {

class LogCopy {
 public:
  /// Copies from the pin's position on. `uuid`: of the copied database. All arguments outlive this.
  LogCopy(const wal::Segments& from, wal::ReplayStart::Pin& pin, io::Device& into,
          const Uuid& uuid);

  /// Copies up to `end`, which is behind a whole batch, and advances the pin. Returns the bytes
  /// copied.
  std::uint64_t copy_up_to(wal::StreamPosition end);
  /// Completes the copied log, durably; it ends where the last call did. `state`: the pin's, which
  /// may have been released.
  void finish(wal::ControlState state);

  /// The end of what was copied.
  [[nodiscard]] wal::StreamPosition position() const noexcept { return at_; }

 private:
  void begin_segment(const wal::SegmentPlace& segment);
  void copy_piece(const wal::SegmentPlace& segment, std::uint64_t begin, std::uint64_t end);
  void read(wal::StreamPosition at, MutableBytes into) const;
  [[noreturn]] void refuse() const;

  const wal::Segments& from_;
  wal::ReplayStart::Pin& pin_;  ///< while it copies
  io::Device& device_;
  const Uuid uuid_;
  wal::Segments into_;
  wal::StreamPosition at_;
  AlignedMemory memory_;
};

}  // namespace palimpsest::engine
