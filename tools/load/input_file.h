// A file that is read from its beginning to its end, once: what all sources of bytes stand on.
//
// Reading waits in pieces of a fifth of a second, so that an interrupt is noticed (Interrupted).
// Failure: Error not_found, permission_denied, io_error. Thread-safety: belongs to one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace palimpsest::load {

/// Throws Error with what the operating system says of the file.
[[noreturn]] void refuse_file(const std::string& path, std::string_view what, int error);

class InputFile {
 public:
  /// `taken` counts the bytes that are read.
  InputFile(const std::string& path, std::atomic<std::uint64_t>& taken);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// As ByteSource::read().
  std::size_t read(std::span<char> into);
  /// Of a regular file, as ByteSource::skip().
  void skip(std::uint64_t bytes);
  /// The first bytes, which read() returns as well.
  std::string_view look_ahead(std::size_t bytes);

 private:
  std::size_t read_some(std::span<char> into);

  std::string path_;
  std::atomic<std::uint64_t>& taken_;
  int descriptor_ = 0;  ///< standard input
  std::string ahead_{};
};

}  // namespace palimpsest::load
