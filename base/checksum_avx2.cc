#include "base/checksum_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace palimpsest {

uint64_t checksum_avx2(const void* data, size_t size_bytes) noexcept {
  return XXH3_64bits(data, size_bytes);
}

}  // namespace palimpsest
