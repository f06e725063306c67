#include "engine/log_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/open_device.h"
#include "wal/log_control.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view kNewLogPlaceName = "log-directory.new";
constexpr std::size_t kBlockBytes = 8192;  ///< longer than the system's longest path
constexpr std::size_t kAlignmentBytes = 4096;

bool is_beside(const io::Device& pages, const io::Device& log) {
  return &pages == &log || io::absolute_path(pages.path()) == io::absolute_path(log.path());
}

void remove_if_there(io::Device& device, std::string_view name) {
  if (device.exists(name)) {
    device.remove(name);
  }
}

void write_place(io::Device& pages, std::string_view place) {
  const AlignedMemory block(kBlockBytes, kAlignmentBytes);
  std::memcpy(block.data(), place.data(), place.size());
  remove_if_there(pages, kNewLogPlaceName);
  {
    const auto file = pages.open(kNewLogPlaceName, io::OpenMode::create_new, false);
    file->write(0, block.bytes());
    file->sync();
  }
  pages.rename(kNewLogPlaceName, kLogPlaceName);
  pages.sync_directory();
}

}  // namespace

std::string remembered_log_place(io::Device& pages) {
  try {
    if (!pages.exists(kLogPlaceName)) {
      return {};
    }
    const AlignedMemory block(kBlockBytes, kAlignmentBytes);
    pages.open(kLogPlaceName, io::OpenMode::read_only, false)->read(0, block.bytes());
    const auto* const text = reinterpret_cast<const char*>(block.data());
    return {text, std::find(text, text + kBlockBytes, '\0')};
  } catch (const Error&) {
    return {};
  }
}

void remember_log_place(io::Device& pages, const io::Device& log) noexcept {
  try {
    if (is_beside(pages, log)) {
      remove_if_there(pages, kLogPlaceName);
      return;
    }
    const std::string place = io::absolute_path(log.path());
    if (place.size() < kBlockBytes && remembered_log_place(pages) != place) {
      write_place(pages, place);
    }
  } catch (const std::exception&) {
    return;
  }
}

void refuse_missing_log(io::Device& pages, std::string_view asked) {
  const std::string place = remembered_log_place(pages);
  const std::string looked_in = io::absolute_path(std::string(asked));
  throw Error(
      ErrorCode::log_not_found,
      fmt::format("{}: the directory holds a database, but its log is not in \"{}\"; {}",
                  pages.path(), looked_in,
                  place.empty() || place == looked_in
                      ? std::string("set Options::log_directory to the directory of its log, or, "
                                    "if the log is lost, restore pages and log from a backup")
                      : fmt::format("it was last opened with its log in \"{}\" "
                                    "(Options::log_directory)",
                                    place)));
}

void require_log(io::Device& pages, io::Device& log) {
  if (!log.exists(wal::kControlFileName)) {
    refuse_missing_log(pages, log.path());
  }
}

}  // namespace palimpsest::engine
