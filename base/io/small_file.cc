#include "base/io/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/io/file_descriptor.h"

namespace palimpsest::io {

std::optional<std::string> read_small_file(const std::string& path) {
  const auto file =
      FileDescriptor::opened_by([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (!file.is_open()) {
    return std::nullopt;
  }
  std::string content;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(file.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return count == 0 ? std::optional(std::move(content)) : std::nullopt;
    }
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace palimpsest::io
