// The rows of TPC-H's eight tables (clause 1.4), as columns of Palimpsest hold them (schemas.h).
//
// One struct serves the generator, the .tbl files and TableOf. Make many rows in the same struct:
// its texts keep their memory.
// Thread-safety: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "palimpsest/types.h"

namespace palimpsest::experiments::tpch {

/// A text of one letter.
using Letter = std::array<char, 1>;

struct RegionRow {
  std::int32_t key = 0;
  std::string name{};
  std::string comment{};

  friend bool operator==(const RegionRow&, const RegionRow&) = default;
};

struct NationRow {
  std::int32_t key = 0;
  std::string name{};
  std::int32_t region = 0;
  std::string comment{};

  friend bool operator==(const NationRow&, const NationRow&) = default;
};

struct SupplierRow {
  std::int32_t key = 0;
  std::string name{};
  std::string address{};
  std::int32_t nation = 0;
  std::string phone{};
  Decimal balance{};
  std::string comment{};

  friend bool operator==(const SupplierRow&, const SupplierRow&) = default;
};

struct CustomerRow {
  std::int32_t key = 0;
  std::string name{};
  std::string address{};
  std::int32_t nation = 0;
  std::string phone{};
  Decimal balance{};
  std::string segment{};
  std::string comment{};

  friend bool operator==(const CustomerRow&, const CustomerRow&) = default;
};

struct PartRow {
  std::int32_t key = 0;
  std::string name{};
  std::string manufacturer{};
  std::string brand{};
  std::string type{};
  std::int32_t size = 0;
  std::string container{};
  Decimal retail_price{};
  std::string comment{};

  friend bool operator==(const PartRow&, const PartRow&) = default;
};

struct PartSuppRow {
  std::int32_t part = 0;
  std::int32_t supplier = 0;
  std::int32_t available = 0;
  Decimal cost{};
  std::string comment{};

  friend bool operator==(const PartSuppRow&, const PartSuppRow&) = default;
};

struct OrderRow {
  std::int64_t key = 0;
  std::int32_t customer = 0;
  Letter status{};
  Decimal total_price{};
  Date date{};
  std::string priority{};
  std::string clerk{};
  std::int32_t ship_priority = 0;
  std::string comment{};

  friend bool operator==(const OrderRow&, const OrderRow&) = default;
};

struct LineItemRow {
  std::int64_t order = 0;
  std::int32_t part = 0;
  std::int32_t supplier = 0;
  std::int32_t line = 0;  ///< from 1, within the order
  Decimal quantity{};
  Decimal extended_price{};
  Decimal discount{};
  Decimal tax{};
  Letter return_flag{};
  Letter line_status{};
  Date ship_date{};
  Date commit_date{};
  Date receipt_date{};
  std::string instructions{};
  std::string mode{};
  std::string comment{};

  friend bool operator==(const LineItemRow&, const LineItemRow&) = default;
};

}  // namespace palimpsest::experiments::tpch
