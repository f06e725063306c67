// The storage device for persistent memory, by libpmem: for the log. Files are mapped; a write is a
// copy and a flush of processor caches, a read is a copy, a sync asks the system for nothing.
//
// A batch is copied with non-temporal stores and ends with one fence: what run() has written is
// durable when it returns. Only sizes and extents still need fsync, so the first sync after a file
// was opened, allocated, extended or truncated calls it, and those between do not. A file whose
// mapping turns out not to be persistent memory (an ordinary file in between) is synced by the
// system every time: it is slower, and as durable.
//
// Invariants: (1) every byte below the file's size as known here has its space reserved before it
//                 is mapped, and is only then copied to or from: a full file system is an error of
//                 open, write or allocate, and never a signal in the middle of a copy;
//             (2) mappings are replaced, and sizes cut, while no copy runs.
// Latching: a latch per file, shared while bytes are copied, exclusive while the file grows or is
//           truncated; a hybrid latch, because readers must not starve who grows. A write beyond
//           the end grows the file and maps it anew: allocate first.
// Thread-safety: as Device and File. While a file is open for writing, nobody shortens it but
//             through that File: the end of a mapping would be gone.
// Failure: as Device and File; no_space from opening for writing, too, if the file has holes that
//          cannot be filled. The end of the process (SIGBUS) if the medium has lost what it held.
#pragma once

#include <memory>
#include <string>

#include "base/io/directory_device.h"

namespace palimpsest::io {

class PmemDevice final : public DirectoryDevice {
 public:
  /// As DirectoryDevice. Works on any file system, but gains something on persistent memory only.
  PmemDevice(std::string path, bool create);

  /// Whether libpmem says that files of the directory are persistent memory; tried on a nameless
  /// one. False where none can be made. With PMEM_IS_PMEM_FORCE=1 in the environment of the
  /// process everything is, as libpmem has it.
  [[nodiscard]] bool is_persistent() const noexcept;

  /// Nothing to do: bytes are copied.
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override;
  [[nodiscard]] std::string description() const override;

 private:
  [[nodiscard]] std::unique_ptr<File> make_file(OpenedFile opened) override;
};

}  // namespace palimpsest::io
