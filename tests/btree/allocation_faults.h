// An allocation that fails at a chosen moment: replaces the global operator new of the test binary
// that links it.
//
// Counts only the allocations of the thread that sets the fault, without those made for a device
// (the simulated disk allocates where an operating system would not).
#pragma once

#include <cstdint>
#include <memory>

#include "base/io/device.h"

namespace palimpsest::btree::test {

/// ThreadSanitizer has operators new of its own, which cannot be replaced.
#ifdef PALIMPSEST_TSAN
inline constexpr bool kAllocationsCanFail = false;
#else
inline constexpr bool kAllocationsCanFail = true;
#endif

/// While it lives, the n-th allocation of this thread fails once with std::bad_alloc. At most one
/// object at a time in a thread.
class AllocationFault {
 public:
  explicit AllocationFault(std::uint64_t nth) noexcept;
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
  ~AllocationFault();

  /// Whether the n-th allocation has been reached.
  [[nodiscard]] bool met() const noexcept;
};

/// A wrapper of `device` in whose work no allocation fails. `device` must outlive the result.
[[nodiscard]] std::unique_ptr<io::Device> without_allocation_faults(io::Device& device);

}  // namespace palimpsest::btree::test
