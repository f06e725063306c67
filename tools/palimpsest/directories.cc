#include "tools/palimpsest/directories.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "engine/engine.h"
#include "wal/log_control.h"
#include "wal/segments.h"

namespace palimpsest::tools {
namespace {

constexpr const char* kLogFolder = "log";

/// If a database's log is elsewhere (engine/log_place.h), a log beside its pages is not its log.
bool has_log_files(io::Device& device) {
  return std::ranges::any_of(device.list(), [](const std::string& name) {
    return name == wal::kControlFileName || wal::Segments::is_name(name);
  });
}

[[noreturn]] void refuse_without_control(const io::Device& device) {
  throw Error(ErrorCode::not_found,
              fmt::format("\"{}\" does not hold a log: there is no file \"{}\"", device.path(),
                          wal::kControlFileName));
}

}  // namespace

std::unique_ptr<io::Device> open_quietly(const std::string& path) {
  return io::open_device(path, {.preference = io::DeviceOptions::Preference::posix, .log = {}});
}

std::unique_ptr<io::Device> open_log_directory(const std::string& path, const std::string& log) {
  auto device = open_quietly(log.empty() ? path : log);
  if (has_log_files(*device)) {
    return device;
  }
  if (!log.empty()) {
    throw Error(ErrorCode::not_found, fmt::format("{}: no log is there", device->path()));
  }
  if (device->exists(kLogFolder)) {
    auto folder = open_quietly(path + "/" + kLogFolder);
    if (has_log_files(*folder)) {
      return folder;
    }
  }
  if (!device->exists(buffer::kPageFileName)) {
    refuse_without_control(*device);
  }
  throw Error(
      ErrorCode::not_found,
      fmt::format("{}: no log beside the pages; --log-directory says where it is", device->path()));
}

bool has_log(const std::string& path, const std::string& log) {
  try {
    static_cast<void>(open_log_directory(path, log));
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::not_found) {
      throw;
    }
    return false;
  }
}

void require_log_control(io::Device& log) {
  if (!log.exists(wal::kControlFileName)) {
    refuse_without_control(log);
  }
}

}  // namespace palimpsest::tools
