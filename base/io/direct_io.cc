#include "base/io/direct_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/io/file_descriptor.h"

namespace palimpsest::io {
namespace {

constexpr std::uint32_t kStatxDioAlign = 0x00002000;         // STATX_DIOALIGN, Linux 6.1
constexpr std::uint32_t kStatxWriteAtomic = 0x00010000;      // STATX_WRITE_ATOMIC, Linux 6.11
constexpr std::uint64_t kStatxAttrWriteAtomic = 0x00400000;  // STATX_ATTR_WRITE_ATOMIC

// struct statx as of Linux 6.11; fields used here carry their names.
struct RawStatx {
  std::uint32_t mask;
  std::uint32_t block_bytes;
  std::uint64_t attributes;
  std::uint8_t not_used_1[40];  // nlink ... blocks
  std::uint64_t attributes_mask;
  std::uint8_t not_used_2[88];  // times, device numbers, mount id
  std::uint32_t dio_mem_align_bytes;
  std::uint32_t dio_offset_align_bytes;
  std::uint64_t subvolume;
  std::uint32_t atomic_write_min_bytes;
  std::uint32_t atomic_write_max_bytes;
  std::uint32_t atomic_write_segments_max;
  std::uint8_t not_used_3[76];
};
static_assert(sizeof(RawStatx) == 256);
static_assert(offsetof(RawStatx, attributes) == 0x08);
static_assert(offsetof(RawStatx, attributes_mask) == 0x38);
static_assert(offsetof(RawStatx, dio_mem_align_bytes) == 0x98);
static_assert(offsetof(RawStatx, dio_offset_align_bytes) == 0x9c);
static_assert(offsetof(RawStatx, atomic_write_min_bytes) == 0xa8);
static_assert(offsetof(RawStatx, atomic_write_max_bytes) == 0xac);

constexpr std::uint32_t kSmallestPageBytes = 4096;
// Where the kernel does not say: no device in use asks for more.
constexpr std::size_t kSafeAlignmentBytes = 4096;
constexpr std::size_t kSectorBytes = 512;

/// Where the queue's limits of a disk are, and of a partition of one; the kernel's own names.
constexpr std::array kAtomicLimitFiles{"/sys/dev/block/{}:{}/queue/atomic_write_unit_max_bytes",
                                       "/sys/dev/block/{}:{}/../queue/atomic_write_unit_max_bytes"};

/// The number that such a file holds, or 0.
std::uint64_t number_in(const char* path) noexcept {
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  const ssize_t size = file.number() < 0 ? -1 : ::read(file.number(), text.data(), text.size());
  std::uint64_t number = 0;
  if (size > 0) {
    std::from_chars(text.data(), text.data() + size, number);
  }
  return number;
}

/// What the device itself writes without tearing. A file system may promise more, by writing
/// elsewhere first (XFS, Linux 6.16): each write then takes room and a transaction of it.
std::uint64_t device_atomic_bytes(int file) noexcept {
  struct stat status{};
  if (::fstat(file, &status) != 0) {
    return 0;
  }
  std::uint64_t most = 0;
  for (const char* const pattern : kAtomicLimitFiles) {
    std::array<char, 128> path{};
    fmt::format_to_n(path.data(), path.size() - 1, fmt::runtime(pattern), major(status.st_dev),
                     minor(status.st_dev));
    most = std::max(most, number_in(path.data()));
  }
  return most;
}

}  // namespace

DirectIoLimits direct_io_limits(int file) noexcept {
  DirectIoLimits limits{.alignment_bytes = kSafeAlignmentBytes};
  RawStatx status{};
  if (::syscall(SYS_statx, file, "", AT_EMPTY_PATH, kStatxDioAlign | kStatxWriteAtomic, &status) !=
      0) {
    return limits;
  }
  if ((status.mask & kStatxDioAlign) != 0) {
    const std::uint32_t largest =
        std::max(status.dio_mem_align_bytes, status.dio_offset_align_bytes);
    limits.alignment_bytes = status.dio_offset_align_bytes == 0
                                 ? 0
                                 : std::max(kSectorBytes, std::bit_ceil(std::size_t{largest}));
  }
  const bool promised = (status.mask & kStatxWriteAtomic) != 0 &&
                        (status.attributes_mask & kStatxAttrWriteAtomic) != 0 &&
                        (status.attributes & kStatxAttrWriteAtomic) != 0;
  if (promised && status.atomic_write_min_bytes <= kSmallestPageBytes) {
    const std::uint64_t most =
        std::min<std::uint64_t>(status.atomic_write_max_bytes, device_atomic_bytes(file));
    limits.atomic_write_bytes_max = most < kSmallestPageBytes ? 0 : std::bit_floor(most);
  }
  return limits;
}

}  // namespace palimpsest::io
