// The memory that this process has in use, for tests that bound it.
#pragma once

#include <cstdint>
#include <optional>

namespace palimpsest::test {

/// The process's resident memory in bytes. Nothing in builds with a sanitizer, where the
/// sanitizer's own memory (shadow, quarantine) hides the engine's.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes();

}  // namespace palimpsest::test
