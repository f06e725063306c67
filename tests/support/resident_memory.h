// How much memory this process has in use, for tests that bound it.
#pragma once

#include <cstdint>
#include <optional>

namespace palimpsest::test {

/// The process's resident memory in bytes. Nothing in builds with a sanitizer, whose own memory
/// (shadow, quarantine) hides what the engine takes.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes();

}  // namespace palimpsest::test
