// Where some bytes of a text are: what special_bytes.h finds, for each kind of processor.
//
// Plain types only: one source is compiled with -mavx2, and an inline function of a C++ header that
// was emitted there could be the copy the linker keeps for processors without AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace palimpsest::load {

/// So many places behind the last one may be overwritten.
inline constexpr size_t kSpecialPlacesSlack = 12;

/// The places of four bytes in so many blocks of 64: how many.
[[nodiscard]] size_t find_special_sse2(const char* text, size_t blocks, const char* set,
                                       uint16_t* into) noexcept;
/// The same; the caller has made sure that the processor has AVX2 and BMI.
[[nodiscard]] size_t find_special_avx2(const char* text, size_t blocks, const char* set,
                                       uint16_t* into) noexcept;

}  // namespace palimpsest::load
