#include "base/io/open_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/io/pmem_device.h"
#include "base/io/posix_device.h"
#include "base/io/uring_device.h"

namespace palimpsest::io {
namespace {

std::string_view reason_of(int error) noexcept {
  switch (error) {
    case ENOSYS: return "the kernel does not support it";
    case EPERM:
    case EACCES: return "this process may not use it, as in most containers";
    case ENOMEM: return "there is no memory for its queues";
    default: return "unexpected";
  }
}

}  // namespace

std::unique_ptr<Device> open_device(const std::string& path, const DeviceOptions& options) {
  const bool wants_posix = options.preference == DeviceOptions::Preference::posix;
  const int refusal = wants_posix ? 0 : UringDevice::probe();
  if (!wants_posix && refusal == 0) {
    return std::make_unique<UringDevice>(path, options.create, options.log);
  }
  auto device = std::make_unique<PosixDevice>(path, options.create, options.log);
  if (refusal != 0) {
    log_to(options.log, LogLevel::warning, component::kDevice,
           "io_uring cannot be used; POSIX calls take its place",
           {{"path", path},
            {"reason", reason_of(refusal)},
            {"error", std::generic_category().message(refusal)},
            {"device", device->description()}});
  }
  return device;
}

std::unique_ptr<Device> open_log_device(const std::string& path, const DeviceOptions& options) {
  if (options.preference == DeviceOptions::Preference::automatic) {
    auto device = std::make_unique<PmemDevice>(path, options.create);
    if (device->is_persistent()) {
      const std::string description = device->description();
      log_to(options.log, LogLevel::info, component::kDevice, "the log lies on persistent memory",
             {{"path", path}, {"device", description}});
      return device;
    }
    log_to(options.log, LogLevel::debug, component::kDevice,
           "the log's directory is no persistent memory: its files are not mapped",
           {{"path", path}});
  }
  return open_device(path, options);
}

bool may_be_there(const std::string& path) noexcept {
  struct stat unused{};
  return ::lstat(path.c_str(), &unused) == 0 || errno != ENOENT;
}

std::string absolute_path(const std::string& path) {
  return (std::filesystem::absolute(path).lexically_normal() / "").parent_path().string();
}

bool lies_within(const std::string& path, const std::string& directory) noexcept {
  try {
    const auto inner = std::filesystem::weakly_canonical(absolute_path(path));
    const auto outer = std::filesystem::canonical(directory);
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first ==
           outer.end();
  } catch (const std::exception&) {
    return false;
  }
}

void remove_empty_directory(const std::string& path) noexcept {
  static_cast<void>(::rmdir(path.c_str()));
}

}  // namespace palimpsest::io
