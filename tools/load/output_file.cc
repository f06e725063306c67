#include "tools/load/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/output_place.h"
#include "tools/load/system_error.h"

namespace palimpsest::load {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFileMode = 0666;  // the umask takes its share
constexpr mode_t kPermissions = 07777;

/// Nothing if it is not there; links have been followed.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

/// As the file whose place it takes; a user without the right to give files away keeps them.
bool take_after(int descriptor, const struct stat& old) {
  const bool has_owner = ::fchown(descriptor, old.st_uid, old.st_gid) == 0;
  // Rights of an owner or a group are not handed to another one.
  const mode_t mode = old.st_mode & (has_owner ? kPermissions : kNewFileMode);
  return ::fchmod(descriptor, mode) == 0;
}

}  // namespace

std::FILE* OutputFile::begin() {
  const Followed followed = follow(path_);
  target_ = followed.file;
  const auto old = status_of(target_);
  if (followed.is_descriptor || (old && !S_ISREG(old->st_mode))) {
    file_.reset(std::fopen(path_.c_str(), "wbe"));
  } else {
    begin_part();
    if (old && !take_after(::fileno(file_.get()), *old)) {
      refuse_to_write(path_, errno);
    }
  }
  if (file_ == nullptr) {
    refuse_to_write(path_, errno);
  }
  return file_.get();
}

void OutputFile::begin_part() {
  if (::access(target_.c_str(), W_OK) != 0 && errno != ENOENT) {
    refuse_to_write(path_, errno);
  }
  fs::path part;
  int descriptor = -1;
  for (int number = 1; descriptor < 0; ++number) {  // a process that was killed may have left some
    part = fs::path(target_).replace_filename(
        fmt::format("palimpsest-{}-{}.part", ::getpid(), number));
    descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kNewFileMode);
    if (descriptor < 0 && errno != EEXIST) {
      throw Error(code_of_system_error(errno),
                  fmt::format("{}: it cannot be made, to become {} when it is complete: {}",
                              part.string(), path_, std::generic_category().message(errno)));
    }
  }
  part_ = std::move(part);
  file_.reset(::fdopen(descriptor, "wb"));
  if (file_ == nullptr) {
    ::close(descriptor);
    refuse_to_write(path_, ENOMEM);
  }
}

void OutputFile::complete() {
  const bool is_synced =
      std::fflush(file_.get()) == 0 && (part_.empty() || ::fsync(::fileno(file_.get())) == 0);
  if (!is_synced || std::fclose(file_.release()) != 0) {
    refuse_to_write(path_, errno);
  }
  if (!part_.empty() && std::rename(part_.c_str(), target_.c_str()) != 0) {
    refuse_to_write(path_, errno);
  }
  part_.clear();
}

void OutputFile::remove_part() noexcept {
  if (!part_.empty()) {
    ::unlink(part_.c_str());
  }
}

}  // namespace palimpsest::load
