// How the subcommands open a database's directory.
#pragma once

#include <memory>
#include <string>

#include "base/io/device.h"

namespace palimpsest::tools {

/// Opens a directory; which device is used matters to nobody here. Throws as io::open_device().
[[nodiscard]] std::unique_ptr<io::Device> open_quietly(const std::string& path);

/// Where a database's log is: the directory itself, or the folder "log" in it. Throws not_found if
/// there is none, and as open_quietly().
[[nodiscard]] std::unique_ptr<io::Device> open_log_directory(const std::string& path);

}  // namespace palimpsest::tools
