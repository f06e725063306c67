#include "tests/support/resident_memory.h"

#include <unistd.h>

#include <fstream>

namespace palimpsest::test {

std::optional<std::uint64_t> resident_bytes() {
#ifdef PALIMPSEST_SANITIZED
  return std::nullopt;
#else
  std::ifstream status("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  status >> size_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
#endif
}

}  // namespace palimpsest::test
