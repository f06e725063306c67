// What a file's device and file system promise for unbuffered and for atomic I/O.
//
// The constants and the tail of struct statx are newer than the C library's headers. They are
// stated here as in the Linux ABI, and used only if the running kernel sets the bits that say that
// the fields are filled in. A kernel that does not know a bit leaves it clear.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/io/small_file.h"

namespace palimpsest::io {

/// pwritev2 flag: the write does not tear, not even in a crash (Linux 6.11).
inline constexpr int kRwfAtomic = 0x40;

struct DirectIoLimits {
  /// Alignment that O_DIRECT requires of memory, offsets and sizes; 0 if it is known not to work.
  std::size_t alignment_bytes = 0;
  /// Largest write with kRwfAtomic that the device itself does not tear; 0 if there is none, or if
  /// the device excludes 4 KiB pages.
  std::size_t atomic_write_bytes_max = 0;
};

/// Asks the kernel about an open file. Throws only std::bad_alloc: an atomic write size that is not
/// promised is reported as 0.
[[nodiscard]] DirectIoLimits direct_io_limits(int file);

/// Bytes that a block device, named as in st_dev, writes without tearing, or 0. A file system may
/// promise more by writing elsewhere first (XFS, Linux 6.16): that takes space, and a file-system
/// transaction, for each write.
[[nodiscard]] std::uint64_t device_atomic_bytes(std::uint64_t device, ReadFile read_file);

}  // namespace palimpsest::io
