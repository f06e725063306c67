// A file that is written anew: all of it is there, or what was there before.
//
// What is written goes into a file of another name in the same folder,
// "palimpsest-<process>-<n>.part", which is synced and takes the place of the old one when it is
// complete. It has the old one's permissions, and its owner as far as that is allowed. A folder in
// which nothing can be made is refused, although the file itself could be written: nothing could be
// kept of what it was. Symbolic links are followed, and stay. What is no regular file, a pipe or a
// device, and what is reached through a descriptor, as /dev/stdout, is written directly: nothing
// takes its place.
// A process that is killed leaves the unfinished file.
// Failure: Error not_found if its folder is not there, permission_denied, no_space, io_error; the
//          message names the file.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

namespace palimpsest::load {

class OutputFile {
 public:
  /// Touches nothing yet.
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  /// Nothing of what is not complete stays.
  ~OutputFile() { remove_part(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Where to write, until it is complete. Once.
  [[nodiscard]] std::FILE* begin();
  /// All has been written, and is what the path names from now on.
  void complete();

 private:
  void begin_part();
  void remove_part() noexcept;

  std::string path_;                ///< as the caller has named it
  std::filesystem::path target_{};  ///< that it leads to
  std::filesystem::path part_{};    ///< empty: the target itself is written
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
};

}  // namespace palimpsest::load
