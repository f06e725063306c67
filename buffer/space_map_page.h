// A map page of the space map on disk: which pages of a stretch are in use.
//
// On disk: page header (64 bytes, type space_map; its GSN is at least that of every log record in
// the bits), then bits, least significant bit of the lowest byte first; the first is the map page's
// own.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace palimpsest::buffer {

/// The 64 bits from 64 * `word`.
[[nodiscard]] std::uint64_t map_word(ConstBytes page, std::uint64_t word) noexcept;
void set_map_word(MutableBytes page, std::uint64_t word, std::uint64_t bits) noexcept;

/// Whether the page has never been written: a hole in a file that has grown.
[[nodiscard]] bool is_blank_map_page(ConstBytes page) noexcept;

/// A map page's bits as text (runs of used pages), for debuggers and `check`.
[[nodiscard]] std::string print_space_map_page(ConstBytes page);

}  // namespace palimpsest::buffer
