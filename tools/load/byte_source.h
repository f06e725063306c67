// Files as bytes: plain, or decompressed when they begin with the magic number of gzip, zstd, xz,
// bzip2 or zip, as those must whose names say so.
//
// Reading waits in pieces of a fifth of a second, so that an interrupt is noticed (Interrupted).
// Failure: Error not_found, permission_denied, io_error; corruption for compressed data that is
//          damaged or ends too early. The message names the file, and the byte where that showed.
// Thread-safety: belongs to one thread at a time, but for bytes_taken().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace palimpsest::load {

/// How the name of standard input is spelled.
inline constexpr const char* kStandardInput = "-";

class ByteSource {
 public:
  /// `taken` counts the bytes that are read from the file, compressed or not.
  [[nodiscard]] static std::unique_ptr<ByteSource> open(const std::string& path,
                                                        std::atomic<std::uint64_t>& taken);
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills all of `into`, or less at the end of the file; 0 behind it.
  [[nodiscard]] virtual std::size_t read(std::span<char> into) = 0;
  /// Whether damage may show only behind bytes that it has changed: at the end there is a checksum.
  [[nodiscard]] virtual bool is_compressed() const noexcept { return false; }
  /// What was left out before the first byte that read() returns.
  struct Skipped {
    std::uint64_t bytes = 0;
    std::uint64_t lines = 0;
  };
  [[nodiscard]] virtual Skipped skipped() const noexcept { return {}; }
  /// As if so many bytes were read, or all if there are fewer.
  virtual void skip(std::uint64_t bytes);

 protected:
  ByteSource() = default;
};

/// Bytes of a regular file; nothing of anything else, and of standard input.
[[nodiscard]] std::optional<std::uint64_t> file_bytes(const std::string& path);

/// Error as of ByteSource::open() if a file is not there, or that cannot be known: its folder
/// cannot be searched. Standard input is there.
void check_is_there(const std::string& path);

/// Whether a file that is opened twice says the same each time: a regular file, or a directory,
/// which cannot be read; not standard input, a pipe, a device.
[[nodiscard]] bool can_be_read_again(const std::string& path);

}  // namespace palimpsest::load
