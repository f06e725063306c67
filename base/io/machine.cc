#include "base/io/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <thread>

namespace palimpsest::io {
namespace {

/// Version 1 reports a limit that was never set as a huge value rounded to pages.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60U;

/// One hierarchy of control groups: where its files are, and the name of the file with the limit.
struct Hierarchy {
  std::string_view mount;
  std::string_view limit_file;
};
constexpr Hierarchy kVersion1{.mount = "/sys/fs/cgroup/memory",
                              .limit_file = "memory.limit_in_bytes"};
constexpr Hierarchy kVersion2{.mount = "/sys/fs/cgroup", .limit_file = "memory.max"};

/// Removes the text up to and including a separator and returns what was before it; all of it if
/// there is none.
std::string_view take_until(std::string_view& text, char separator) noexcept {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool has_controller(std::string_view controllers, std::string_view wanted) noexcept {
  while (!controllers.empty()) {
    if (take_until(controllers, ',') == wanted) {
      return true;
    }
  }
  return false;
}

/// "max", or anything else that is not a number, means no limit.
std::optional<std::uint64_t> parse_limit(std::string_view text) noexcept {
  std::uint64_t limit = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), limit);
  return parsed.ec == std::errc() && limit < kNoLimit ? std::optional(limit) : std::nullopt;
}

/// The least limit of a group and of the groups that contain it. In a container the group's name
/// may be the one outside, while the visible files are those of the hierarchy's root.
std::optional<std::uint64_t> least_limit(const Hierarchy& hierarchy, std::string_view group,
                                         ReadFile read_file) {
  std::optional<std::uint64_t> least;
  for (;;) {
    const std::string_view name = group == "/" ? "" : group;
    std::string path(hierarchy.mount);
    path.append(name).append("/").append(hierarchy.limit_file);
    if (const auto content = read_file(path)) {
      if (const auto limit = parse_limit(*content)) {
        least = std::min(least.value_or(*limit), *limit);
      }
    }
    if (name.empty()) {
      return least;
    }
    group = name.substr(0, std::min(name.rfind('/'), name.size()));
  }
}

}  // namespace

// Lines are "id:controllers:path"; version 2 has no controllers there.
std::optional<std::uint64_t> group_memory_bytes(ReadFile read_file) {
  const auto groups = read_file("/proc/self/cgroup");
  if (!groups) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> least;
  for (std::string_view rest = *groups; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view id = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    const bool is_version_2 = id == "0" && controllers.empty();
    if (!line.starts_with('/') || (!is_version_2 && !has_controller(controllers, "memory"))) {
      continue;
    }
    if (const auto limit = least_limit(is_version_2 ? kVersion2 : kVersion1, line, read_file)) {
      least = std::min(least.value_or(*limit), *limit);
    }
  }
  return least;
}

int this_process() noexcept {
  return ::getpid();
}

Machine this_machine() {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
  const auto page_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
  return {.memory_bytes = pages * page_bytes,
          .group_memory_bytes = group_memory_bytes(&read_small_file),
          .processors = std::max(std::thread::hardware_concurrency(), 1U)};
}

}  // namespace palimpsest::io
