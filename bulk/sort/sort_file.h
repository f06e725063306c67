// The temporary file of a sort, or one that stays, and which parts of it are in use.
//
// It is made when the first part is asked for, and its name is taken away at once: the space goes
// with the last handle, also when the process is killed. A power failure may bring the name back,
// or leave a file whose making was interrupted: remove_sort_files(), when a database is opened.
// Nothing in it is ever synced: nobody reads it later.
// A file that stays has a name from somebody else, who also removes it. Its parts are written once
// and not used again: what was synced is there until the file is removed.
//
// Thread-safety: take() and give_back() from any thread; file() once take() has returned.
// Failure: Error no_space, io_error, permission_denied, naming the file and the bytes asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/io/device.h"

namespace palimpsest::engine {

/// What names of such files begin with, unless somebody asks for another one.
inline constexpr std::string_view kSortFilePrefix = "sort-";

/// Removes the files "<prefix><number>.tmp" that sorts of other processes have left. Nobody sorts
/// in that directory.
void remove_sort_files(io::Device& device, std::string_view prefix = kSortFilePrefix);

class SortFile {
 public:
  /// The device outlives it.
  SortFile(io::Device& device, std::string_view prefix) : device_(device), prefix_(prefix) {}
  /// One that stays, under this name, and has so many bytes in use; none: in place of a file of
  /// that name, if there is one. Throws also not_found, and corruption if it is shorter.
  SortFile(io::Device& device, std::string_view name, std::uint64_t used_bytes);

  /// A part of the file that is nobody else's: its offset. `bytes`: a multiple of what the device
  /// asks for.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes);
  /// Of a file that stays: nothing.
  void give_back(std::uint64_t offset_bytes, std::uint64_t bytes);

  /// After take().
  [[nodiscard]] io::File& file() const noexcept { return *file_; }
  /// All that was written, and the name of a file that stays, survive any crash.
  void sync();
  /// How long it has become.
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
  std::map<std::uint64_t, std::uint64_t> vacant_;  ///< offset and bytes; no two are neighbours
  std::uint64_t end_ = 0;
};

}  // namespace palimpsest::engine
