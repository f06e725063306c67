// Opens a directory as a storage device by the best means this host and the directory allow.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/io/device.h"
#include "base/log_sink.h"

namespace palimpsest::io {

struct DeviceOptions {
  enum class Preference : std::uint8_t {
    automatic = 1,  ///< io_uring, else POSIX with one log line saying why
    posix,          ///< POSIX calls even where io_uring is allowed
  };

  /// Make the directory (0700) if it does not exist; its parent must.
  bool create = false;
  Preference preference = Preference::automatic;
  LogSink log = stderr_log_sink();
};

/// Throws Error: not_found, not_a_database (not a directory), permission_denied (no access, or a
/// read-only file system), io_error.
[[nodiscard]] std::unique_ptr<Device> open_device(const std::string& path,
                                                  const DeviceOptions& options);

/// As open_device(), for the directory of a log: if it lies on persistent memory and the preference
/// is automatic, files are mapped (pmem_device.h), and one log line says so.
[[nodiscard]] std::unique_ptr<Device> open_log_device(const std::string& path,
                                                      const DeviceOptions& options);

/// Whether anything of that name exists; true if that cannot be determined.
[[nodiscard]] bool may_be_there(const std::string& path) noexcept;
/// The absolute path, resolved against the working directory; symbolic links are kept.
[[nodiscard]] std::string absolute_path(const std::string& path);
/// Whether the path leads to the directory or to anything below it. False if that cannot be
/// determined.
[[nodiscard]] bool lies_within(const std::string& path, const std::string& directory) noexcept;
/// Removes a directory if it is empty; leaves anything else alone.
void remove_empty_directory(const std::string& path) noexcept;

}  // namespace palimpsest::io
