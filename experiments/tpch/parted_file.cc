#include "experiments/tpch/parted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace palimpsest::experiments::tpch {

PartedFile::PartedFile(std::filesystem::path path)
    : path_(std::move(path)), partial_(path_.string() + ".partial") {
  constexpr mode_t kForAll = 0666;  // as the umask allows
  file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kForAll);
  if (file_ < 0) {
    fail("make");
  }
}

PartedFile::~PartedFile() {
  if (file_ >= 0) {
    ::close(file_);
    ::unlink(partial_.c_str());
  }
}

bool PartedFile::write(std::uint64_t part, std::string_view bytes,
                       const std::atomic<bool>& stopping) {
  std::uint64_t offset = 0;
  if (!place(part, bytes.size(), stopping, offset)) {
    return false;
  }
  write_at(offset, bytes);
  return true;
}

bool PartedFile::place(std::uint64_t part, std::uint64_t bytes, const std::atomic<bool>& stopping,
                       std::uint64_t& offset) {
  constexpr std::chrono::milliseconds kAskAgain{10};  // stopping is polled
  std::unique_lock lock(mutex_);
  while (next_part_ != part) {
    if (stopping.load()) {
      return false;
    }
    placed_.wait_for(lock, kAskAgain);
  }
  offset = next_offset_;
  next_offset_ += bytes;
  ++next_part_;
  placed_.notify_all();
  return true;
}

void PartedFile::write_at(std::uint64_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail("write");
    }
    offset += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PartedFile::complete() {
  if (::close(std::exchange(file_, -1)) != 0) {
    const int error = errno;
    ::unlink(partial_.c_str());
    errno = error;
    fail("close");
  }
  std::filesystem::rename(partial_, path_);
}

void PartedFile::fail(const char* doing) const {
  throw std::system_error(errno, std::generic_category(),
                          fmt::format("cannot {} {}", doing, partial_.string()));
}

}  // namespace palimpsest::experiments::tpch
