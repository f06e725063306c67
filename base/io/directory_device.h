// A directory of the operating system as a Device: what the POSIX, io_uring and persistent-memory
// devices share, which is everything but how bytes are moved.
//
// Files are opened relative to a descriptor of the directory and without following symbolic links,
// so that a rename or a link elsewhere cannot change which file is opened. The directory has mode
// 0700, files 0600. A file is opened buffered and then switched to O_DIRECT by fcntl: opening with
// O_DIRECT may create the file and then fail, and a second attempt would find it existing.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/device.h"
#include "base/io/file_descriptor.h"
#include "base/log_sink.h"

namespace palimpsest::io {

/// An open file and its properties.
struct OpenedFile {
  FileDescriptor descriptor;
  std::string name;  ///< includes the directory's path
  std::shared_ptr<IoCounters> counters;
  bool is_direct = false;
  bool is_locked = false;
  LogSink log{};  ///< of its device
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
  /// Opens the directory and tests whether its file system accepts O_DIRECT. With `create`, makes
  /// the directory if it is absent (its parent must exist), and makes an empty directory durable in
  /// its parent, whichever process created it.
  /// `log` hears of what this file system lacks, at the latest when a file needs it.
  DirectoryDevice(std::string path, bool create, LogSink log = {});

  /// "O_DIRECT" or "buffered (O_DIRECT refused: Invalid argument)".
  [[nodiscard]] const std::string& caching() const noexcept { return caching_; }
  [[nodiscard]] int directory_descriptor() const noexcept { return directory_.number(); }
  [[nodiscard]] const LogSink& log() const noexcept { return log_; }

 private:
  [[nodiscard]] virtual std::unique_ptr<File> make_file(OpenedFile opened) = 0;
  [[nodiscard]] OpenedFile open_file(const std::string& name, OpenMode mode, bool exclusive);

  std::string path_;
  const LogSink log_;
  FileDescriptor directory_;
  std::string caching_;
};

}  // namespace palimpsest::io
