// How the subcommands that look at files open a database's directories.
#pragma once

#include <memory>
#include <string>

#include "base/io/device.h"

namespace palimpsest::tools {

/// Opens a directory; which device is used matters to nobody here. Throws as io::open_device().
[[nodiscard]] std::unique_ptr<io::Device> open_quietly(const std::string& path);

/// Opens the directory of a database's log: `log` if that is said, else the database's directory,
/// or the folder "log" in it. Throws not_found if there is no file of a log, saying how it is told
/// where that is, and as open_quietly().
[[nodiscard]] std::unique_ptr<io::Device> open_log_directory(const std::string& path,
                                                             const std::string& log);

/// Whether open_log_directory() finds one. Throws what else that throws.
[[nodiscard]] bool has_log(const std::string& path, const std::string& log);

/// What is wrong with it as a log's directory: its control file has gone. Throws not_found if so.
void require_log_control(io::Device& log);

}  // namespace palimpsest::tools
