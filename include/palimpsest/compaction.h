// Making the page file as short as what is in use: what Database::compact() is told, and tells.
//
// Thread-safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace palimpsest {

struct CompactionProgress {
  std::uint64_t pages_moved = 0;
  /// What there is to be moved as it is known now; 0 while what nobody needs is given back first.
  std::uint64_t pages_total = 0;
  std::uint64_t file_bytes = 0;  ///< length of the page file now
  std::uint32_t page_bytes = 0;  ///< of one page
};

struct CompactionOptions {
  /// Called now and then by the thread that compacts. What it throws ends the compaction and is
  /// thrown by it: so it can be given up; what was moved until then stays moved.
  std::function<void(const CompactionProgress&)> progress{};
};

struct CompactionReport {
  std::uint64_t bytes_before = 0;  ///< length of the page file
  std::uint64_t bytes_after = 0;
  std::uint64_t bytes_in_use = 0;  ///< of the page file when it ended, its header included
  std::uint64_t pages_moved = 0;   ///< a page as often as it was
  /// Pages that lie farther back than they should and cannot be moved, or were taken or written by
  /// others meanwhile. Those that cannot are those of large values.
  std::uint64_t pages_unmoved = 0;
  std::chrono::milliseconds duration{0};
};

}  // namespace palimpsest
