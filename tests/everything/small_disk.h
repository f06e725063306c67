// A disk of some dozens of mebibytes that fills up and is emptied again: a file system in memory,
// mounted where only this process and its children see it, and a file on it, the ballast, that
// takes the room.
//
// Thread-safety: none, but resize_ballast().
#pragma once

#include <cstdint>
#include <string>

namespace palimpsest::everything {

/// Mounts one at a directory; gone with the process. False if this process may not, which must not
/// have threads.
[[nodiscard]] bool mount_small_disk(const std::string& directory, std::uint64_t bytes);

/// As long as there is room for it.
void resize_ballast(const std::string& path, std::uint64_t bytes);

}  // namespace palimpsest::everything
