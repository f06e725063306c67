// The rows that these benchmarks insert, read, change and erase: on every engine the same.
//
// A row is made of its number alone, so that whoever reads one can say what it has to be. The body
// are capital letters that nothing can compress much.
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
  std::int64_t number = 0;  ///< the same again, beside the key
  std::int64_t round = 0;   ///< how often the row has been updated
  std::array<char, kBodyBytes> body{};
};

/// Of one row: its key and the rest.
inline constexpr std::uint64_t kRowBytes = 3 * sizeof(std::int64_t) + kBodyBytes;

/// As it is before any update.
void make_row(std::uint64_t number, Row& row) noexcept;

/// All of a row but its key, for engines that store bytes by bytes.
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
