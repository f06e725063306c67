#include "base/start_thread.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

namespace palimpsest {

void refuse_without_thread(std::string_view purpose, const std::system_error& error) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("cannot start a thread {}: {}", purpose, error.code().message()));
}

}  // namespace palimpsest
