// TPC-H's lineitem as a CSV file (RFC 4180, no header), in the order of its keys or shuffled.
//
// All lines are made in memory: shuffled ones come from everywhere in the file. A field has quotes
// only if it needs them, which some comments do.
// Thread-safety: belongs to one thread. Failure: std::bad_alloc; std::system_error if the file
//                cannot be written; it is removed then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/files/content.h"
#include "experiments/tpch/scale.h"

namespace palimpsest::experiments::files {

enum class LineOrder : std::uint8_t { sorted = 1, shuffled };

[[nodiscard]] std::string_view name_of(LineOrder order) noexcept;

/// Appends the fields of a line of a .tbl file as a line of a CSV file.
void append_csv(std::string_view tbl_line, std::string& into);

class CsvLines {
 public:
  CsvLines(std::uint64_t seed, const tpch::Scale& scale);

  [[nodiscard]] const Content& content() const noexcept { return content_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return text_.size(); }
  /// Creates the file, which must not exist.
  void write(const std::filesystem::path& file, LineOrder order) const;

 private:
  [[nodiscard]] std::string_view line(std::uint64_t number) const;

  std::uint64_t seed_;
  std::string text_;
  std::vector<std::size_t> begins_;  ///< of each line, and the end
  Content content_;
};

}  // namespace palimpsest::experiments::files
