#include "tools/load/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/byte_source.h"
#include "tools/load/interrupt.h"
#include "tools/load/system_error.h"

namespace palimpsest::load {
namespace {

constexpr int kWaitMilliseconds = 200;

}  // namespace

void refuse_file(const std::string& path, std::string_view what, int error) {
  throw Error(code_of_system_error(error),
              fmt::format("{}: {}: {}", path, what, std::generic_category().message(error)));
}

InputFile::InputFile(const std::string& path, std::atomic<std::uint64_t>& taken)
    : path_(path), taken_(taken) {
  if (path != kStandardInput) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      refuse_file(path, "it cannot be opened", errno);
    }
  }
}

InputFile::~InputFile() {
  if (descriptor_ > STDIN_FILENO) {
    ::close(descriptor_);
  }
}

std::size_t InputFile::read(std::span<char> into) {
  std::size_t done = std::min(into.size(), ahead_.size());
  std::copy_n(ahead_.begin(), done, into.begin());
  ahead_.erase(0, done);
  while (done < into.size()) {
    const std::size_t some = read_some(into.subspan(done));
    if (some == 0) {
      break;
    }
    done += some;
  }
  return done;
}

void InputFile::skip(std::uint64_t bytes) {
  const std::size_t known = std::min<std::uint64_t>(bytes, ahead_.size());
  ahead_.erase(0, known);
  if (::lseek(descriptor_, static_cast<off_t>(bytes - known), SEEK_CUR) < 0) {
    refuse_file(path_, "it cannot be read from its middle", errno);
  }
  taken_ += bytes - known;
}

std::string_view InputFile::look_ahead(std::size_t bytes) {
  std::string first(bytes, '\0');
  first.resize(read(first));
  ahead_ = std::move(first);
  return ahead_;
}

std::size_t InputFile::read_some(std::span<char> into) {
  for (;;) {
    stop_if_interrupted();
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kWaitMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
      continue;
    }
    const ssize_t bytes = ::read(descriptor_, into.data(), into.size());
    if (bytes >= 0) {
      taken_ += static_cast<std::uint64_t>(bytes);
      return static_cast<std::size_t>(bytes);
    }
    if (errno != EINTR && errno != EAGAIN) {
      refuse_file(path_, "it cannot be read", errno);
    }
  }
}

}  // namespace palimpsest::load
