// Checks for bugs of this program: a failed check aborts with a message. Never used on bytes from a
// file: those are validated and reported as corruption.
#pragma once

#include <source_location>
#include <string_view>

namespace palimpsest {

[[noreturn]] void check_failed(std::string_view what, const std::source_location& where) noexcept;

/// Always on; for cold paths.
constexpr void check(bool holds, std::string_view what,
                     const std::source_location& where = std::source_location::current()) noexcept {
  if (!holds) [[unlikely]] {
    check_failed(what, where);
  }
}

/// On in debug and sanitizer builds; for hot paths. A macro, so that in other builds its condition
/// is not evaluated at all: a function's argument would still be, and loads of atomics are not
/// optimised away.
#ifdef PALIMPSEST_DEBUG_CHECKS
#define PALIMPSEST_DEBUG_CHECK(holds, what) ::palimpsest::check((holds), (what))
#else
#define PALIMPSEST_DEBUG_CHECK(holds, what) static_cast<void>(sizeof((holds) ? 1 : 0))
#endif

}  // namespace palimpsest
