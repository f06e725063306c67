// What a file's device and file system promise for unbuffered and for atomic I/O.
//
// The constants and the tail of struct statx are newer than the C library's headers: they are
// stated here as the Linux ABI has them, and believed only where the running kernel sets the bits
// that say that the fields are filled in. A kernel that does not know a bit leaves it clear.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/io/small_file.h"

namespace palimpsest::io {

/// pwritev2 flag: the write is not torn, by a crash either (Linux 6.11).
inline constexpr int kRwfAtomic = 0x40;

struct DirectIoLimits {
  /// Alignment that O_DIRECT asks of memory, offsets and sizes; 0 if it is known not to work.
  std::size_t alignment_bytes = 0;
  /// Largest size of a write with kRwfAtomic that the device itself does not tear, 0 if there is
  /// none or if it excludes 4 KiB pages.
  std::size_t atomic_write_bytes_max = 0;
};

/// Asks the kernel about an open file. Fails for want of memory only: what is not promised is not
/// reported.
[[nodiscard]] DirectIoLimits direct_io_limits(int file);

/// What a block device, named as in st_dev, writes without tearing, or 0. A file system may promise
/// more by writing elsewhere first (XFS, Linux 6.16): that takes room, and a transaction of its
/// own, for each write.
[[nodiscard]] std::uint64_t device_atomic_bytes(std::uint64_t device, ReadFile read_file);

}  // namespace palimpsest::io
