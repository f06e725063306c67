// The rows that these benchmarks insert, read, change and erase: on every engine the same.
//
// A row is a function of its number, so every reader can verify it. The body consists of capital
// letters that hardly compress.
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace palimpsest::experiments::bulk {

inline constexpr std::size_t kBodyBytes = 76;

struct Row {
  std::int64_t id = 0;
  std::int64_t number = 0;  ///< the same as in the key
  std::int64_t round = 0;   ///< how often the row has been updated
  std::array<char, kBodyBytes> body{};
};

/// One row's key and its other columns.
inline constexpr std::uint64_t kRowBytes = 3 * sizeof(std::int64_t) + kBodyBytes;

/// The row before any update.
void make_row(std::uint64_t number, Row& row) noexcept;

/// All of a row but its key, for engines that store bytes under keys of bytes.
class RowValue {
 public:
  explicit RowValue(const Row& row) noexcept {
    std::memcpy(bytes_.data(), &row.number, sizeof row.number);
    std::memcpy(bytes_.data() + sizeof row.number, &row.round, sizeof row.round);
    std::memcpy(bytes_.data() + 2 * sizeof row.round, row.body.data(), row.body.size());
  }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kRowBytes - sizeof(std::int64_t)> bytes_;
};

}  // namespace palimpsest::experiments::bulk
