// What the machine, and the control group that this process runs in, let it use: what defaults are
// taken from.
//
// A container shows the files of the whole machine, so that the limit of its control group counts:
// the least of those of the group and of the groups around it. Both versions of control groups are
// read; what cannot be read is no limit.
// Thread-safety: all functions. Failure: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/io/small_file.h"

namespace palimpsest::io {

struct Machine {
  std::uint64_t memory_bytes = 0;  ///< of the machine
  /// What the control group may use.
  std::optional<std::uint64_t> group_memory_bytes{};
  std::size_t processors = 1;  ///< that this process may run on
};

[[nodiscard]] Machine this_machine();

/// The number of this process, for messages.
[[nodiscard]] int this_process() noexcept;

/// The limit that the control groups of this process set, by the files under /proc and /sys.
[[nodiscard]] std::optional<std::uint64_t> group_memory_bytes(ReadFile read_file);

}  // namespace palimpsest::io
