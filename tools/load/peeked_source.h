// A source whose beginning may be looked at before it is read; and one without its first lines.
//
// Failure and thread-safety: as ByteSource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tools/load/byte_source.h"

namespace palimpsest::load {

class PeekedSource : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  /// The first bytes that read() will return, so many or, at the end, fewer.
  [[nodiscard]] std::string_view peek(std::size_t bytes);
  /// Leaves out the first lines; false if there are fewer. Before read(), and after peek() or not.
  bool skip_lines(std::uint64_t lines);

  std::size_t read(std::span<char> into) override;
  void skip(std::uint64_t bytes) override;
  [[nodiscard]] bool is_compressed() const noexcept override { return source_->is_compressed(); }
  [[nodiscard]] Skipped skipped() const noexcept override { return skipped_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string ahead_{};
  std::size_t begin_ = 0;  ///< of what is left of it
  Skipped skipped_{};
};

}  // namespace palimpsest::load
