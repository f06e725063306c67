#include "tools/palimpsest/directories.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "wal/log_control.h"

namespace palimpsest::tools {
namespace {

constexpr const char* kLogFolder = "log";

}  // namespace

std::unique_ptr<io::Device> open_quietly(const std::string& path) {
  return io::open_device(
      path, {.preference = io::DeviceOptions::Preference::posix, .log = [](LogLevel, auto) {}});
}

std::unique_ptr<io::Device> open_log_directory(const std::string& path) {
  auto device = open_quietly(path);
  if (!device->exists(wal::kControlFileName) && device->exists(kLogFolder)) {
    device = open_quietly(path + "/" + kLogFolder);
  }
  if (!device->exists(wal::kControlFileName)) {
    throw Error(ErrorCode::not_found, fmt::format("\"{}\" holds no log: there is no file \"{}\"",
                                                  device->path(), wal::kControlFileName));
  }
  return device;
}

}  // namespace palimpsest::tools
