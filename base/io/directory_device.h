// A directory of the operating system as a Device: all that POSIX, io_uring and persistent-memory
// devices share, which is everything but how bytes are moved.
//
// Files are opened relative to a descriptor of the directory and without following symbolic links,
// so that nobody who can rename or link elsewhere changes what is opened; the directory is 0700,
// files are 0600. A file is opened buffered and then switched to O_DIRECT by fcntl: opening with
// O_DIRECT may create the file and then fail, and the repetition would find it existing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"
#include "base/io/file_descriptor.h"

namespace palimpsest::io {

/// An open file and what it can do.
struct OpenedFile {
  FileDescriptor descriptor;
  std::string name;  ///< with the directory's path
  std::shared_ptr<IoCounters> counters;
  bool is_direct = false;
  bool is_locked = false;
  std::size_t alignment_bytes = 0;
  std::size_t atomic_write_bytes_max = 0;
};

class DirectoryDevice : public Device {
 public:
  [[nodiscard]] std::unique_ptr<File> open(std::string_view name, OpenMode mode,
                                           bool exclusive) final;
  [[nodiscard]] bool exists(std::string_view name) final;
  void remove(std::string_view name) final;
  void rename(std::string_view from, std::string_view to) final;
  [[nodiscard]] std::unique_ptr<DirectoryLock> lock_directory() final;
  void sync_directory() final;
  [[nodiscard]] std::vector<std::string> list() final;
  [[nodiscard]] const std::string& path() const noexcept final { return path_; }

 protected:
  /// Opens the directory and tries whether its file system accepts O_DIRECT. With `create`, an
  /// absent directory is made (its parent must exist). An empty one is made durable in its
  /// parent, whichever process has made it.
  DirectoryDevice(std::string path, bool create);

  /// "O_DIRECT" or "buffered (O_DIRECT refused: Invalid argument)".
  [[nodiscard]] const std::string& caching() const noexcept { return caching_; }
  [[nodiscard]] int directory_descriptor() const noexcept { return directory_.number(); }

 private:
  [[nodiscard]] virtual std::unique_ptr<File> make_file(OpenedFile opened) = 0;
  [[nodiscard]] OpenedFile open_file(const std::string& name, OpenMode mode, bool exclusive);

  std::string path_;
  FileDescriptor directory_;
  std::string caching_;
};

}  // namespace palimpsest::io
