#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace palimpsest {

void check_failed(std::string_view what, const std::source_location& where) noexcept {
  std::fprintf(stderr, "palimpsest: check failed: %.*s (%s:%u, %s)\n",
               static_cast<int>(what.size()), what.data(), where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  std::abort();
}

}  // namespace palimpsest
