// The rows of TPC-H (clause 4.2.3), each a function of seed, scale and its number.
//
// A row needs no other row and no state: threads may make any of them in any order, and the result
// is the same. Numbers count from 0 in each table; the lines of an order are made with it, since
// its status and its price are theirs.
// Distributions are those of the specification; the rows are not those of the TPC's own program,
// which uses other random numbers. Where the specification requires some rows at random, a
// permutation chooses exactly that many.
// Thread-safety: immutable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.h"
#include "experiments/common/permutation.h"
#include "experiments/tpch/prose.h"
#include "experiments/tpch/rows.h"
#include "experiments/tpch/scale.h"

namespace palimpsest::experiments::tpch {

/// Hundredths of the currency.
using Cents = std::int64_t;

/// An order and its lines.
struct Order {
  OrderRow row{};
  std::array<LineItemRow, kLinesMax> line{};  ///< the first line_count of them belong to the order
  std::size_t line_count = 0;

  [[nodiscard]] std::span<const LineItemRow> lines() const noexcept {
    return std::span(line).first(line_count);
  }
};

class Population {
 public:
  Population(std::uint64_t seed, const Scale& scale);

  [[nodiscard]] const Scale& scale() const noexcept { return scale_; }

  void make(std::uint64_t number, RegionRow& into) const;
  void make(std::uint64_t number, NationRow& into) const;
  void make(std::uint64_t number, SupplierRow& into) const;
  void make(std::uint64_t number, CustomerRow& into) const;
  void make(std::uint64_t number, PartRow& into) const;
  /// The suppliers of a part follow each other, kSuppliersOfPart of them.
  void make(std::uint64_t number, PartSuppRow& into) const;
  void make(std::uint64_t number, Order& into) const;

  /// 8 of 32 keys are used: 1 to 7, 32 to 39, 64 to 71, ...
  [[nodiscard]] static constexpr std::int64_t order_key(std::uint64_t number) noexcept {
    const auto dense = static_cast<std::int64_t>(number) + 1;
    return dense / 8 * 32 + dense % 8;
  }
  [[nodiscard]] static constexpr Cents retail_price(std::int64_t part) noexcept {
    return 900'00 + part / 10 % 20'001 + 100 * (part % 1000);
  }

 private:
  enum class Stream : std::uint8_t;

  [[nodiscard]] std::uint64_t stream_seed(Stream stream, std::uint64_t number) const noexcept;
  [[nodiscard]] std::int32_t random_buyer(Random& random) const noexcept;
  void make_line(Random& random, Date ordered, LineItemRow& into) const;

  std::uint64_t seed_;
  Scale scale_;
  Prose prose_;
  Permutation critics_;  ///< of suppliers: the first ones are complained of, the next recommended
};

}  // namespace palimpsest::experiments::tpch
