// The checksum compiled for AVX2; private to checksum.cc.
//
// Plain types only: its source is compiled with -mavx2, and an inline function of a C++ header that
// was emitted there could be the copy the linker keeps for processors without AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace palimpsest {

/// XXH3-64; the caller has made sure that the processor has AVX2.
[[nodiscard]] uint64_t checksum_avx2(const void* data, size_t size_bytes) noexcept;

}  // namespace palimpsest
