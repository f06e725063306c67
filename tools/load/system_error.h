// What the system's errors about files that the caller named mean to the caller.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "palimpsest/error.h"

namespace palimpsest::load {

[[nodiscard]] inline ErrorCode code_of_system_error(int error) noexcept {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return ErrorCode::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorCode::no_space;
    default: return ErrorCode::io_error;
  }
}

[[noreturn]] inline void refuse_to_write(const std::string& file, int error) {
  throw Error(code_of_system_error(error), fmt::format("{}: it cannot be written: {}", file,
                                                       std::generic_category().message(error)));
}

}  // namespace palimpsest::load
