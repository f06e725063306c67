// A disk of some dozens of mebibytes that fills up and is emptied again: a file system in memory,
// mounted where only this process and its children see it, and a file on it, the ballast, that
// occupies the space.
//
// Thread-safety: none, except resize_ballast().
#pragma once

#include <cstdint>
#include <string>

namespace palimpsest::everything {

/// Mounts one at a directory; it disappears with the process, which must not have threads. False if
/// this process has no right to mount.
[[nodiscard]] bool mount_small_disk(const std::string& directory, std::uint64_t bytes);

/// Takes as much as there is space for.
void resize_ballast(const std::string& path, std::uint64_t bytes);

}  // namespace palimpsest::everything
