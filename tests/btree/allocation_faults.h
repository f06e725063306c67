// Memory that runs out at a chosen moment: replaces the global operator new of the test binary it
// is linked into.
//
// Only the allocations of the thread that asks for a fault are counted, and not those made on
// behalf of a device (the simulated disk allocates where an operating system would not).
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

/// From construction to destruction, the n-th allocation of this thread fails with std::bad_alloc;
/// once. At most one at a time in a thread.
class AllocationFault {
 public:
  explicit AllocationFault(std::uint64_t nth) noexcept;
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
  ~AllocationFault();

  /// Whether the allocation has been met.
  [[nodiscard]] bool met() const noexcept;
};

/// `device`, during whose work no allocation fails. It outlives the result.
[[nodiscard]] std::unique_ptr<io::Device> without_allocation_faults(io::Device& device);

}  // namespace palimpsest::btree::test
