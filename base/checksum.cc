#include "base/checksum.h"

#include "base/checksum_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace palimpsest {

std::uint64_t checksum(ConstBytes bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) [[likely]] {
    return checksum_avx2(bytes.data(), bytes.size());
  }
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace palimpsest
