// The storage device by io_uring: a batch costs one system call and its transfers overlap.
//
// A single transfer goes by pread or pwrite: the kernel does the same work for both, and a ring
// would add 0.3 to 0.8 us of processor time to the 19 us of a 4 KiB read (measured with O_DIRECT on
// a virtual disk, Linux 6.18); in batches of 32 a block costs a tenth of that. Syncs are plain
// calls too: the caller waits for them anyway.
// A locked file is not registered with the rings. After a process is killed, the kernel releases
// what its rings registered late (30 to 60 ms, 600 ms on a loaded machine, Linux 6.18), and with
// the file its lock; transfers in flight also hold the file, and must, until they end. Leaving the
// file unregistered costs 15 ns a block.
// If no ring can be lent, the batch is moved as in PosixFile.
// Thread-safety: as Device and File.
#pragma once

#include <memory>
#include <string>

#include "base/io/directory_device.h"
#include "base/io/posix_device.h"
#include "base/io/ring_pool.h"
#include "base/log_sink.h"

namespace palimpsest::io {

class UringDevice final : public DirectoryDevice {
 public:
  /// 0 if this process may use io_uring, else the errno with which the kernel refuses it (ENOSYS,
  /// EPERM: forbidden; ENOMEM: no memory may be locked).
  [[nodiscard]] static int probe() noexcept;

  /// As DirectoryDevice. `log` gets a line if the kernel later refuses rings or registered memory.
  UringDevice(std::string path, bool create, LogSink log);

  /// Registers memory of at most RingPool::kRegionBytesMax with the rings.
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override;
  [[nodiscard]] std::string description() const override;

  /// Number of rings that exist.
  [[nodiscard]] std::size_t rings_count() const noexcept { return rings_->rings_count(); }

 private:
  [[nodiscard]] std::unique_ptr<File> make_file(OpenedFile opened) override;

  std::shared_ptr<RingPool> rings_;
};

}  // namespace palimpsest::io
