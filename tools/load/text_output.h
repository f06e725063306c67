// Text on its way into a file, compressed if that is wanted.
//
// Failure: Error no_space, io_error; the message names the file.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest::load {

enum class Compression : std::uint8_t { none = 1, gzip, zstd };

/// "none", "gzip", "zstd".
[[nodiscard]] std::string_view name_of(Compression compression) noexcept;
[[nodiscard]] std::optional<Compression> compression_of_name(std::string_view name) noexcept;
/// By the end of a file's name, in any case: .gz, .zst. Throws UsageError for other kinds that are
/// read and not written: .xz, .bz2, .zip.
[[nodiscard]] Compression compression_of_path(const std::string& path);
/// What a file's name ends with: "", ".gz", ".zst".
[[nodiscard]] std::string_view ending_of(Compression compression) noexcept;

class TextOutput {
 public:
  /// `file` stays the caller's, and open; `name`: as messages name it.
  static std::unique_ptr<TextOutput> make(std::FILE* file, std::string name,
                                          Compression compression);
  virtual ~TextOutput() = default;
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  virtual void write(std::string_view text) = 0;
  /// There is no more. Once.
  virtual void finish() {}

 protected:
  TextOutput(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
  void put(const void* bytes, std::size_t size);

 private:
  std::FILE* file_;
  std::string name_;
};

}  // namespace palimpsest::load
