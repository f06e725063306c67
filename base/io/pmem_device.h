// The storage device for persistent memory, by libpmem; used for the log. Files are mapped: a write
// is a copy and a flush of processor caches, a read is a copy, and a sync usually needs no system
// call.
//
// A batch is copied with non-temporal stores and ends with one fence: its writes are durable when
// run() returns. Only sizes and extents still need fsync, so the first sync after a file was
// opened, allocated, extended or truncated calls it, and those in between do not. A file with a
// mapping that is not persistent memory (an ordinary file) is synced by the system every time:
// slower, but as durable.
//
// Invariants: (1) every byte below the file's size as known here has its space reserved before it
//                 is mapped, and is only then copied to or from: a full file system is an error of
//                 open, write or allocate, and never a signal in the middle of a copy;
//             (2) mappings are replaced, and sizes reduced, only while no copy runs.
// Latching: a latch per file, shared while bytes are copied, exclusive while the file grows or is
//           truncated. It is a hybrid latch, because readers must not starve a thread that grows
//           the file. A write beyond the end grows the file and remaps it: allocate first.
// Thread-safety: as Device and File. While a file is open for writing, it may be shortened only
//                through that File: otherwise the end of the mapping would vanish.
// Failure: as Device and File; opening for writing also throws no_space if the file has holes that
//          cannot be filled. If the medium has lost data, the process ends (SIGBUS).
#pragma once

#include <memory>
#include <string>

#include "base/io/directory_device.h"

namespace palimpsest::io {

class PmemDevice final : public DirectoryDevice {
 public:
  /// As DirectoryDevice. Works on any file system, but is faster on persistent memory only.
  PmemDevice(std::string path, bool create);

  /// Whether libpmem reports the directory's files as persistent memory, tested on a nameless file.
  /// False where none can be made. With PMEM_IS_PMEM_FORCE=1 in the environment of the process,
  /// libpmem reports everything as persistent.
  [[nodiscard]] bool is_persistent() const noexcept;

  /// Nothing to do: transfers are copies.
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override;
  [[nodiscard]] std::string description() const override;

 private:
  [[nodiscard]] std::unique_ptr<File> make_file(OpenedFile opened) override;
};

}  // namespace palimpsest::io
