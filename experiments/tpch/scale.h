// How large a TPC-H database is: the rows of its tables by the scale factor (clause 4.2.5).
//
// Thread-safety: a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace palimpsest::experiments::tpch {

enum class TableId : std::uint8_t {
  region = 1,
  nation,
  supplier,
  customer,
  part,
  partsupp,
  orders,
  lineitem
};

/// Tables before those that refer to them.
inline constexpr std::array kTables{TableId::region,   TableId::nation,  TableId::supplier,
                                    TableId::customer, TableId::part,    TableId::partsupp,
                                    TableId::orders,   TableId::lineitem};

/// The table's name: "lineitem".
[[nodiscard]] std::string_view name_of(TableId table) noexcept;

inline constexpr std::uint64_t kRegions = 5;
inline constexpr std::uint64_t kNations = 25;
inline constexpr std::uint64_t kSuppliersOfPart = 4;
inline constexpr std::uint64_t kLinesMax = 7;  ///< of an order, from 1 on

inline constexpr double kScaleFactorMin = 0.001;
/// Keys of parts and customers are integers of 32 bits.
inline constexpr double kScaleFactorMax = 10'000;

class Scale {
 public:
  /// Throws UsageError for a factor beyond these bounds, and for a small one by which the formula
  /// of the specification would name a part's supplier twice.
  explicit Scale(double factor);

  [[nodiscard]] double factor() const noexcept { return factor_; }
  [[nodiscard]] std::uint64_t suppliers() const noexcept { return scaled(10'000); }
  [[nodiscard]] std::uint64_t customers() const noexcept { return scaled(150'000); }
  [[nodiscard]] std::uint64_t parts() const noexcept { return scaled(200'000); }
  [[nodiscard]] std::uint64_t orders() const noexcept { return scaled(1'500'000); }
  [[nodiscard]] std::uint64_t clerks() const noexcept { return scaled(1'000); }
  /// Suppliers that a customer complains of; as many are recommended.
  [[nodiscard]] std::uint64_t complaints() const noexcept { return scaled(5); }

  /// Of a table; of lineitem four times the orders, which it has on average.
  [[nodiscard]] std::uint64_t rows(TableId table) const noexcept;
  /// Bytes of the table as a .tbl file, to within a few percent.
  [[nodiscard]] std::uint64_t tbl_bytes(TableId table) const noexcept;

 private:
  /// Rounded, and at least 1.
  [[nodiscard]] std::uint64_t scaled(std::uint64_t of_factor_one) const noexcept;

  double factor_;
};

/// The key of the `choice`-th supplier of a part, from 0: all that there are supply about equally
/// many (clause 4.2.3, PS_SUPPKEY).
[[nodiscard]] constexpr std::uint64_t supplier_of(std::uint64_t part, std::uint64_t choice,
                                                  std::uint64_t suppliers) noexcept {
  return (part + choice * (suppliers / kSuppliersOfPart + (part - 1) / suppliers)) % suppliers + 1;
}

}  // namespace palimpsest::experiments::tpch
