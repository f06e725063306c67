// Rows as lines of a .tbl file, the format of the TPC's own program: fields with a vertical bar
// after each of them, no quotes.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "experiments/tpch/rows.h"

namespace palimpsest::experiments::tpch {

class TblText {
 public:
  void add(const RegionRow& row);
  void add(const NationRow& row);
  void add(const SupplierRow& row);
  void add(const CustomerRow& row);
  void add(const PartRow& row);
  void add(const PartSuppRow& row);
  void add(const OrderRow& row);
  void add(const LineItemRow& row);

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Keeps the memory.
  void clear() noexcept { size_ = 0; }

 private:
  void text(std::string_view field);
  void letter(Letter field);
  void number(std::int64_t field);
  /// With its two digits after the point.
  void money(const Decimal& field);
  void date(Date field);
  void end_line();

  /// Space for `bytes` more.
  [[nodiscard]] char* room(std::size_t bytes) {
    if (bytes_.size() - size_ < bytes) [[unlikely]] {
      bytes_.resize(2 * bytes_.size() + bytes);
    }
    return bytes_.data() + size_;
  }
  /// The text written into that space ends there; appends a bar.
  void end_field(char* end) noexcept {
    *end = '|';
    size_ = static_cast<std::size_t>(end + 1 - bytes_.data());
  }

  std::vector<char> bytes_;  ///< the first size_ of them are the text
  std::size_t size_ = 0;
};

}  // namespace palimpsest::experiments::tpch
