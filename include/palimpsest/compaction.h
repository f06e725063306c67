// Options, progress and report of Database::compact(), which shortens the page file to what is in
// use.
//
// Thread-safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace palimpsest {

struct CompactionProgress {
  std::uint64_t pages_moved = 0;
  /// How many there are to move as far as is known now; 0 while unused pages are still being freed.
  std::uint64_t pages_total = 0;
  std::uint64_t file_bytes = 0;  ///< length of the page file now
  std::uint32_t page_bytes = 0;  ///< the database's page size
};

struct CompactionOptions {
  /// Called now and then by the compacting thread. An exception that it throws ends the compaction
  /// and leaves compact(): this is how to cancel one. Pages moved before that stay moved.
  std::function<void(const CompactionProgress&)> progress{};
};

struct CompactionReport {
  std::uint64_t bytes_before = 0;  ///< length of the page file
  std::uint64_t bytes_after = 0;
  std::uint64_t bytes_in_use = 0;  ///< of the page file at the end, its header included
  std::uint64_t pages_moved = 0;   ///< counts a page once for each time it was moved
  /// Pages beyond the file's ideal end that stayed there: other transactions allocated or wrote
  /// them meanwhile; or they are of large values whose rows a transaction changes, whose rows a
  /// snapshot sees in a previous state, or for which the free pages are too scattered.
  std::uint64_t pages_unmoved = 0;
  std::chrono::milliseconds duration{0};
};

}  // namespace palimpsest
