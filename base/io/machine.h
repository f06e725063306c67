// What the machine, and the control group of this process, allow it to use; defaults are derived
// from it.
//
// A container sees the files of the whole machine, so the limit of its control group counts: the
// least of the limits of the group and of the groups that contain it. Both versions of control
// groups are supported; a file that cannot be read sets no limit.
// Thread-safety: all functions. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/io/small_file.h"

namespace palimpsest::io {

struct Machine {
  std::uint64_t memory_bytes = 0;  ///< of the machine
  /// Limit of the control group.
  std::optional<std::uint64_t> group_memory_bytes{};
  std::size_t processors = 1;  ///< on which this process may run
};

[[nodiscard]] Machine this_machine();

/// The number of this process, for messages.
[[nodiscard]] int this_process() noexcept;

/// The memory limit that the control groups of this process set, according to /proc and /sys.
[[nodiscard]] std::optional<std::uint64_t> group_memory_bytes(ReadFile read_file);

}  // namespace palimpsest::io
