// The files of a load, as UTF-8 text without what stands before their records: decompressed,
// decoded, and, if it is JSON, an object a record. The first one's beginning can be looked at
// before it is known how it is read.
//
// Failure: as ByteSource, decoded_source.h and json_source.h; UsageError for a file that has fewer
//          lines than are to be skipped. Thread-safety: belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/load/byte_source.h"
#include "tools/load/peeked_source.h"

namespace palimpsest::load {

struct InputOptions {
  std::string encoding{};        ///< as of decoded()
  std::uint64_t skip_lines = 0;  ///< at the beginning of each file
};

class InputFiles {
 public:
  /// `taken` counts the bytes that are read of the files, compressed or not.
  InputFiles(std::vector<std::string> paths, InputOptions options,
             std::atomic<std::uint64_t>& taken);

  /// What the first file begins with, so many bytes or fewer if it is shorter; open() returns them
  /// as well.
  [[nodiscard]] std::string_view peek(std::size_t bytes);
  /// Whether the files are objects of JSON on any number of lines.
  void set_json(bool is_json) noexcept { is_json_ = is_json; }
  /// One of them, by its number, from its beginning. `taken`: in place of the constructor's.
  [[nodiscard]] std::unique_ptr<ByteSource> open(std::size_t file);
  [[nodiscard]] std::unique_ptr<ByteSource> open(std::size_t file,
                                                 std::atomic<std::uint64_t>& taken) const;
  [[nodiscard]] const std::vector<std::string>& paths() const noexcept { return paths_; }
  /// Whether each of them says the same when it is read again.
  [[nodiscard]] bool can_be_read_again() const;

 private:
  [[nodiscard]] std::unique_ptr<PeekedSource> open_text(std::size_t file,
                                                        std::atomic<std::uint64_t>& taken) const;
  [[nodiscard]] std::unique_ptr<ByteSource> records_of(std::unique_ptr<PeekedSource> source,
                                                       std::size_t file) const;

  std::vector<std::string> paths_;
  InputOptions options_;
  std::atomic<std::uint64_t>& taken_;
  bool is_json_ = false;
  std::unique_ptr<PeekedSource> first_{};  ///< if it was looked at, and not opened since then
};

}  // namespace palimpsest::load
