// The operating system's counters for this process: memory and block I/O. The same measure for
// every engine, whatever the engine itself counts.
#pragma once

#include <cstdint>
#include <filesystem>

namespace palimpsest::experiments {

struct ProcessStats {
  std::uint64_t resident_bytes = 0;       ///< all resident pages, mapped files included
  std::uint64_t resident_file_bytes = 0;  ///< of these, pages of mapped files
  std::uint64_t read_bytes = 0;           ///< fetched from block devices by this process
  std::uint64_t write_bytes = 0;          ///< sent, or made dirty in the page cache
};

/// Reads /proc/self. Fields that the kernel does not have stay 0.
[[nodiscard]] ProcessStats read_process_stats();

/// Bytes of disk that the files below `directory` occupy: allocated blocks, so holes do not count.
[[nodiscard]] std::uint64_t occupied_bytes(const std::filesystem::path& directory);

}  // namespace palimpsest::experiments
