#include "base/io/directory_device.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/io/direct_io.h"
#include "base/io/lock_holder.h"
#include "base/sync_point.h"

namespace palimpsest::io {
namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;
// Buffered files require no alignment. Callers keep to sectors all the same, so that a database may
// move between file systems.
constexpr std::size_t kBufferedAlignmentBytes = 512;
/// Patience with a process that may be about to close the file.
constexpr std::chrono::milliseconds kLockPatience{1'000};
/// Patience after the holder has ended: the kernel first ends the I/O that io_uring has in flight,
/// and those writes must not come after ours.
constexpr std::chrono::milliseconds kEndedPatience{10'000};
constexpr std::chrono::milliseconds kLockPause{2};

template <class Call>
int repeat_interrupted(const Call& call) noexcept {
  int result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

[[noreturn]] void throw_directory_error(int error, std::string_view what, std::string_view path) {
  switch (error) {
    case ENOTDIR:
    case ELOOP:
      throw Error(ErrorCode::not_a_database, fmt::format("\"{}\" is not a directory", path));
    case ENOENT:
      throw Error(ErrorCode::not_found, fmt::format("the directory \"{}\" does not exist", path));
    case EACCES:
    case EPERM:
      throw Error(ErrorCode::permission_denied,
                  fmt::format("the directory \"{}\" is not accessible to this user: {}", path,
                              std::generic_category().message(error)));
    case EROFS:
      throw Error(ErrorCode::permission_denied,
                  fmt::format("the directory \"{}\" is on a read-only file system", path));
    default: throw_io_error(error, what, path);
  }
}

FileDescriptor open_directory(const std::string& path) noexcept {
  return FileDescriptor::opened_by([&] {
    return repeat_interrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  });
}

/// Opens the same directory again, whatever its path leads to by now, with its own position and
/// lock.
int reopen(int directory) noexcept {
  return repeat_interrupted(
      [&] { return ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
}

void create_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0) {
    const int error = errno;
    if (error == EEXIST) {
      return;
    }
    if (error == ENOENT) {
      throw Error(
          ErrorCode::not_found,
          fmt::format("\"{}\" cannot be created: its parent directory does not exist", path));
    }
    if (error == ENOTDIR) {
      throw Error(ErrorCode::not_found,
                  fmt::format("\"{}\" cannot be created: its parent is not a directory", path));
    }
    if (error == EACCES || error == EPERM) {
      throw Error(
          ErrorCode::permission_denied,
          fmt::format("\"{}\" cannot be created: its parent directory cannot be written: {}", path,
                      std::generic_category().message(error)));
    }
    throw_directory_error(error, "creation", path);
  }
}

void sync_parent(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::absolute(path + "/.").parent_path();
  const FileDescriptor directory = open_directory(parent.parent_path().string());
  // A parent that may be entered but not read cannot be synced by this process; its owner must do
  // it.
  if (directory.is_open() && ::fsync(directory.number()) != 0) {
    throw_io_error(errno, "sync of the parent directory", path);
  }
}

/// 0, or the errno with which O_DIRECT is refused for this open file.
int switch_to_direct(int file) noexcept {
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0 || ::fcntl(file, F_SETFL, flags | O_DIRECT) != 0) {
    return errno;
  }
  return 0;
}

void require_plain_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not the name of a file in a directory", name));
  }
}

[[noreturn]] void throw_locked(const LockHolder& holder, const std::string& name) {
  std::string reason = "another process has it open; which one cannot be seen from here";
  if (holder.process && *holder.process == ::getpid()) {
    reason = "this process has it open";
  } else if (holder.process && holder.is_running) {
    reason = fmt::format("process {} has it open", *holder.process);
  } else if (holder.process) {
    reason = fmt::format(
        "process {} opened it and has ended, but its lock is still held: by a child process that "
        "it started without exec(), or by I/O that the kernel has not finished",
        *holder.process);
  }
  throw Error(ErrorCode::locked, fmt::format("\"{}\" is in use: {}", name, reason));
}

/// Locks with LOCK_EX, or LOCK_SH for readers. False if the file cannot be locked; errno says why.
/// Throws `locked` if another open keeps it locked until patience runs out.
bool try_lock(int file, int kind, const std::string& name) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<LockHolder> holder;
  while (repeat_interrupted([&] { return ::flock(file, kind | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) {
      return false;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited >= (holder ? kEndedPatience : kLockPatience)) {
      const bool is_over = holder.has_value();
      holder = find_lock_holder(file);
      if (is_over || holder->is_running) {
        throw_locked(*holder, name);
      }
    }
    PALIMPSEST_SYNC_POINT("io.lock.awaited");
    std::this_thread::sleep_for(kLockPause);
  }
  return true;
}

void lock_for(OpenMode mode, int file, const std::string& name) {
  if (!try_lock(file, mode == OpenMode::read_only ? LOCK_SH : LOCK_EX, name)) {
    throw_io_error(errno, "locking", name);
  }
}

class LockedDirectory final : public DirectoryLock {
 public:
  explicit LockedDirectory(FileDescriptor directory) : directory_(std::move(directory)) {}
  LockedDirectory(const LockedDirectory&) = delete;
  LockedDirectory& operator=(const LockedDirectory&) = delete;
  /// Unlocks explicitly: a child made without handlers (own_descriptors.h) has the descriptor, too.
  ~LockedDirectory() override { ::flock(directory_.number(), LOCK_UN); }

 private:
  FileDescriptor directory_;
};

}  // namespace

DirectoryDevice::DirectoryDevice(std::string path, bool create, LogSink log)
    : path_(std::move(path)), log_(std::move(log)) {
  directory_ = open_directory(path_);
  if (!directory_.is_open() && errno == ENOENT && create) {
    create_directory(path_);
    directory_ = open_directory(path_);
  }
  if (!directory_.is_open()) {
    throw_directory_error(errno, "opening", path_);
  }
  // An empty one may have been made by a process that was killed before it synced the parent.
  if (create && list().empty()) {
    sync_parent(path_);
  }
  // Tested on a nameless file of the same file system, so that the answer is known at once.
  const FileDescriptor probe = FileDescriptor::opened_by([&] {
    return ::openat(directory_.number(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kFileMode);
  });
  const int refusal = probe.is_open() ? switch_to_direct(probe.number()) : 0;
  caching_ = refusal == 0 ? "O_DIRECT"
                          : fmt::format("buffered (O_DIRECT refused: {})",
                                        std::generic_category().message(refusal));
  if (refusal != 0) {
    log_to(log_, LogLevel::warning, component::kDevice,
           "O_DIRECT is refused: the system keeps a second copy of what the database caches",
           {{"path", path_}, {"error", std::generic_category().message(refusal)}});
  }
}

OpenedFile DirectoryDevice::open_file(const std::string& name, OpenMode mode, bool exclusive) {
  int flags = O_CLOEXEC | O_NOFOLLOW | (mode == OpenMode::read_only ? O_RDONLY : O_RDWR);
  if (mode == OpenMode::create_new) {
    flags |= O_CREAT | O_EXCL;
  }
  OpenedFile opened;
  opened.name = path_ + "/" + name;
  opened.counters = counters();
  opened.log = log_;
  opened.descriptor = FileDescriptor::opened_by([&] {
    return repeat_interrupted(
        [&] { return ::openat(directory_.number(), name.c_str(), flags, kFileMode); });
  });
  if (!opened.descriptor.is_open()) {
    if (errno == ELOOP) {
      throw Error(ErrorCode::permission_denied,
                  fmt::format("\"{}\" is a symbolic link, which is not followed", opened.name));
    }
    throw_io_error(errno, mode == OpenMode::create_new ? "creation" : "opening", opened.name);
  }
  const int file = opened.descriptor.number();
  struct stat status{};
  if (::fstat(file, &status) != 0) {
    throw_io_error(errno, "reading the status", opened.name);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is not a regular file", opened.name));
  }
  if (exclusive) {
    lock_for(mode, file, opened.name);
    opened.is_locked = true;
  }
  const DirectIoLimits limits = direct_io_limits(file);
  opened.is_direct = limits.alignment_bytes != 0 && switch_to_direct(file) == 0;
  opened.alignment_bytes = opened.is_direct ? limits.alignment_bytes : kBufferedAlignmentBytes;
  opened.atomic_write_bytes_max = opened.is_direct ? limits.atomic_write_bytes_max : 0;
  return opened;
}

std::unique_ptr<File> DirectoryDevice::open(std::string_view name, OpenMode mode, bool exclusive) {
  const std::string plain_name(name);
  require_plain_name(plain_name);
  return make_file(open_file(plain_name, mode, exclusive));
}

bool DirectoryDevice::exists(std::string_view name) {
  const std::string plain_name(name);
  require_plain_name(plain_name);
  struct stat status{};
  if (::fstatat(directory_.number(), plain_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    throw_io_error(errno, "reading the status", path_ + "/" + plain_name);
  }
  return false;
}

void DirectoryDevice::remove(std::string_view name) {
  const std::string plain_name(name);
  require_plain_name(plain_name);
  if (::unlinkat(directory_.number(), plain_name.c_str(), 0) != 0) {
    throw_io_error(errno, "removal", path_ + "/" + plain_name);
  }
}

void DirectoryDevice::rename(std::string_view from, std::string_view to) {
  const std::string old_name(from);
  const std::string new_name(to);
  require_plain_name(old_name);
  require_plain_name(new_name);
  if (::renameat(directory_.number(), old_name.c_str(), directory_.number(), new_name.c_str()) !=
      0) {
    throw_io_error(errno, fmt::format("renaming to \"{}\"", new_name), path_ + "/" + old_name);
  }
}

// Uses a descriptor of its own, because a lock belongs to an open file description. A network file
// system may lock only files open for writing (flock(2), EBADF), which a directory never is: there
// the lock excludes no process.
std::unique_ptr<DirectoryLock> DirectoryDevice::lock_directory() {
  auto directory = FileDescriptor::opened_by([this] { return reopen(directory_.number()); });
  if (!directory.is_open()) {
    throw_directory_error(errno, "opening", path_);
  }
  if (!try_lock(directory.number(), LOCK_EX, path_)) {
    if (errno != EBADF) {
      throw_io_error(errno, "locking the directory", path_);
    }
    log_to(log_, LogLevel::warning, component::kDevice,
           "directories cannot be locked here: no two processes may create the database at once",
           {{"path", path_}});
  }
  return std::make_unique<LockedDirectory>(std::move(directory));
}

void DirectoryDevice::sync_directory() {
  if (repeat_interrupted([&] { return ::fsync(directory_.number()); }) != 0) {
    throw_io_error(errno, "sync of the directory", path_);
  }
}

std::vector<std::string> DirectoryDevice::list() {
  // A second descriptor, because reading a directory moves the descriptor's position.
  const int copy = reopen(directory_.number());
  DIR* const stream = copy < 0 ? nullptr : ::fdopendir(copy);
  if (stream == nullptr) {
    throw_io_error(errno, "listing the directory", path_);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, &::closedir);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  if (errno != 0) {
    throw_io_error(errno, "listing the directory", path_);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace palimpsest::io
