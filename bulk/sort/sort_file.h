// The temporary file of a sort, or a file that stays, and which parts of it are in use.
//
// A temporary file is made when the first part is taken, and its name is removed at once: the space
// is freed with the last handle, even if the process is killed. A power failure may bring the name
// back, or leave a file that was just being made: remove_sort_files() removes these when a database
// is opened. A temporary file is never synced, because it is not read after a crash.
// A file that stays is named, and later removed, by the caller. Its parts are written once and not
// reused: what was synced is there until the file is removed.
//
// Thread-safety: take() and give_back() from any thread; file() once take() has returned.
// Failure: Error no_space, io_error, permission_denied, naming the file and the bytes requested.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/io/device.h"

namespace palimpsest::bulk {

/// Default prefix of the names of such files.
inline constexpr std::string_view kSortFilePrefix = "sort-";

/// Removes files "<prefix><number>.tmp" left by sorts of other processes. No sort runs in that
/// directory.
void remove_sort_files(io::Device& device, std::string_view prefix = kSortFilePrefix);

class SortFile {
 public:
  /// The device outlives it.
  SortFile(io::Device& device, std::string_view prefix) : device_(device), prefix_(prefix) {}
  /// A file that stays, with this name and this many bytes in use; 0: replaces a file of that name,
  /// if there is one. Throws also not_found, and corruption if the file is shorter.
  SortFile(io::Device& device, std::string_view name, std::uint64_t used_bytes);

  /// Allocates a part of the file; returns its offset. `bytes`: a multiple of the device's transfer
  /// unit.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes);
  /// Frees a part. No effect on a file that stays.
  void give_back(std::uint64_t offset_bytes, std::uint64_t bytes);

  /// Called after take().
  [[nodiscard]] io::File& file() const noexcept { return *file_; }
  /// All that was written, and the name of a file that stays, survive any crash.
  void sync();
  /// The size that the file has reached.
  [[nodiscard]] std::uint64_t size_bytes() const;

 private:
  void make();
  [[nodiscard]] bool make_as(const std::string& name);
  void remove_or_leave(const std::string& name) noexcept;

  io::Device& device_;
  const std::string prefix_;
  const bool stays_ = false;
  mutable std::mutex mutex_;
  // Protected by mutex_:
  std::unique_ptr<io::File> file_;                 ///< set once
  std::map<std::uint64_t, std::uint64_t> vacant_;  ///< offset and bytes; no two are adjacent
  std::uint64_t end_ = 0;
};

}  // namespace palimpsest::bulk
