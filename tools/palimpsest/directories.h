// Opens a database's directories for subcommands that read its files.
#pragma once

#include <memory>
#include <string>

#include "base/io/device.h"

namespace palimpsest::tools {

/// Opens a directory; no caller here needs to know which device is used. Throws as
/// io::open_device().
[[nodiscard]] std::unique_ptr<io::Device> open_quietly(const std::string& path);

/// Opens the directory of a database's log: `log` if it is given, else the database's directory, or
/// the folder "log" in it. Throws not_found, naming the option, if there is no file of a log; and
/// as open_quietly().
[[nodiscard]] std::unique_ptr<io::Device> open_log_directory(const std::string& path,
                                                             const std::string& log);

/// Whether open_log_directory() finds one. Throws its other errors.
[[nodiscard]] bool has_log(const std::string& path, const std::string& log);

/// Throws not_found if the control file is missing.
void require_log_control(io::Device& log);

}  // namespace palimpsest::tools
