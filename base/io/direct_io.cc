#include "base/io/direct_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace palimpsest::io {
namespace {

constexpr std::uint32_t kStatxDioAlign = 0x00002000;         // STATX_DIOALIGN, Linux 6.1
constexpr std::uint32_t kStatxWriteAtomic = 0x00010000;      // STATX_WRITE_ATOMIC, Linux 6.11
constexpr std::uint64_t kStatxAttrWriteAtomic = 0x00400000;  // STATX_ATTR_WRITE_ATOMIC

// struct statx as of Linux 6.11; only the fields used here are named.
struct RawStatx {
  std::uint32_t mask;
  std::uint32_t block_bytes;
  std::uint64_t attributes;
  std::uint8_t not_used_1[40];  // nlink ... blocks
  std::uint64_t attributes_mask;
  std::uint8_t not_used_2[72];  // times, the device number of a device file
  std::uint32_t device_major;
  std::uint32_t device_minor;
  std::uint64_t mount;
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
static_assert(offsetof(RawStatx, device_major) == 0x88);
static_assert(offsetof(RawStatx, dio_mem_align_bytes) == 0x98);
static_assert(offsetof(RawStatx, dio_offset_align_bytes) == 0x9c);
static_assert(offsetof(RawStatx, atomic_write_min_bytes) == 0xa8);
static_assert(offsetof(RawStatx, atomic_write_max_bytes) == 0xac);

constexpr std::uint32_t kSmallestPageBytes = 4096;
// If the kernel does not say: no device in use requires more.
constexpr std::size_t kSafeAlignmentBytes = 4096;
constexpr std::size_t kSectorBytes = 512;

}  // namespace

// The limits of a partition are those of its disk's queue.
std::uint64_t device_atomic_bytes(std::uint64_t device, ReadFile read_file) {
  std::uint64_t bytes = 0;
  for (const char* const to_disk : {"", "/.."}) {
    const auto content =
        read_file(fmt::format("/sys/dev/block/{}:{}{}/queue/atomic_write_unit_max_bytes",
                              major(device), minor(device), to_disk));
    if (content) {
      std::from_chars(content->data(), content->data() + content->size(), bytes);
    }
  }
  return bytes;
}

DirectIoLimits direct_io_limits(int file) {
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
    const std::uint64_t most = std::min<std::uint64_t>(
        status.atomic_write_max_bytes,
        device_atomic_bytes(makedev(status.device_major, status.device_minor), &read_small_file));
    limits.atomic_write_bytes_max = most < kSmallestPageBytes ? 0 : std::bit_floor(most);
  }
  return limits;
}

}  // namespace palimpsest::io
