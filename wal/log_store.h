// The log's files in a directory: the control file and the segments.
//
// Failure: Error io_error, no_space, corruption, not_a_database, already_exists, locked; they name
//          the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/io/device.h"
#include "wal/log_control.h"
#include "wal/log_reader.h"
#include "wal/segments.h"
#include "wal/stream_hardener.h"

namespace palimpsest::wal {

struct LogFileOptions {
  std::uint64_t segment_bytes = std::uint64_t{16} << 20U;  ///< of a new log; a multiple of 4096
  /// Size of a new log's first files (segments.h); 0: segment_bytes.
  std::uint64_t first_segment_bytes = 0;
  /// At least kSegmentsMin. For a log with segments of another size: as many as have the same
  /// total.
  std::uint32_t segments_max = 64;
  bool zeros_beside = false;  ///< for a new log: write zeros in a thread, during use (segments.h)
};

class LogStore {
 public:
  static constexpr std::uint32_t kSegmentsMin = Segments::kFilesMin;

  /// Makes a log without records, durably. The caller has exclusive use of the directory. Throws
  /// already_exists, invalid_argument for options beyond limits.
  static LogStore create(io::Device& device, const Uuid& uuid, const LogFileOptions& options);
  /// Opens and locks a log. Its segment size is the one it was made with. When opening for writing,
  /// batches torn while they were rewritten are restored (stream_hardener.h), and everything the
  /// files show is synced: after a process was killed it may be in a cache only.
  static LogStore open(io::Device& device, const LogFileOptions& options, bool read_only);

  /// Makes durable what was found of the stream up to `end`, once: before it is replayed, and
  /// before anything is appended behind it (stream_hardener.h). Only for a log opened for writing.
  void harden(const LogEnd& end);

  /// Durably removes the log of a database that was never finished, the control file last: a crash
  /// in between leaves a log that names its database. The caller has exclusive use of the
  /// directory.
  static void remove(io::Device& device);

  [[nodiscard]] LogControl& control() noexcept { return *control_; }
  [[nodiscard]] const LogControl& control() const noexcept { return *control_; }
  [[nodiscard]] Segments& segments() noexcept { return *segments_; }
  [[nodiscard]] const Segments& segments() const noexcept { return *segments_; }

 private:
  LogStore(std::unique_ptr<LogControl> control, std::unique_ptr<Segments> segments,
           std::optional<StreamHardener> hardener)
      : control_(std::move(control)),
        segments_(std::move(segments)),
        hardener_(std::move(hardener)) {}

  std::unique_ptr<LogControl> control_;
  std::unique_ptr<Segments> segments_;
  std::optional<StreamHardener> hardener_;  ///< until harden() has run
};

}  // namespace palimpsest::wal
