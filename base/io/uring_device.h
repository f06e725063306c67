// The storage device by io_uring: a batch costs one system call and its transfers overlap.
//
// A single transfer goes by pread or pwrite: the kernel does the same work for both, and on the way
// through a ring 0.3 to 0.8 us of processor time are added to the 19 us of a 4 KiB read (measured
// with O_DIRECT on a virtual disk, Linux 6.18); in batches of 32 a block costs a tenth of that.
// Syncs are plain calls too: the caller waits for them anyway.
// A file that is locked is not registered with the rings. The kernel lets go of what they register
// late after a process was killed (30 to 60 ms, 600 ms on a loaded machine, Linux 6.18), and with
// the file of its lock; what is in flight holds the file, and has to, until it has ended. A block
// takes 15 ns more for it.
// Where no ring can be had, the batch is moved as PosixFile does.
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
  /// 0 if this process may use io_uring, or the errno with which the kernel refuses it (ENOSYS,
  /// EPERM: forbidden; ENOMEM: no memory may be locked).
  [[nodiscard]] static int probe() noexcept;

  /// As DirectoryDevice. `log` gets a line when rings or registered memory cannot be had later.
  UringDevice(std::string path, bool create, LogSink log);

  /// Memory of at most RingPool::kRegionBytesMax is registered with the rings.
  [[nodiscard]] std::unique_ptr<BufferRegistration> register_buffer(MutableBytes memory) override;
  [[nodiscard]] std::string description() const override;

  /// Rings created so far.
  [[nodiscard]] std::size_t rings_count() const noexcept { return rings_->rings_count(); }

 private:
  [[nodiscard]] std::unique_ptr<File> make_file(OpenedFile opened) override;

  std::shared_ptr<RingPool> rings_;
};

}  // namespace palimpsest::io
