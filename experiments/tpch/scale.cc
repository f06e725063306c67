#include "experiments/tpch/scale.h"

#include <algorithm>
#include <cmath>

#include "experiments/common/flag_checks.h"

namespace palimpsest::experiments::tpch {
namespace {

/// Whether a part has four different suppliers, whichever part it is. It depends on the part only
/// by how far apart its suppliers are.
bool suppliers_differ(std::uint64_t suppliers, std::uint64_t parts) noexcept {
  for (std::uint64_t part = 1; part <= parts; part += suppliers) {
    const std::uint64_t first = supplier_of(part, 0, suppliers);
    for (std::uint64_t choice = 1; choice < kSuppliersOfPart; ++choice) {
      if (supplier_of(part, choice, suppliers) == first) {
        return false;
      }
    }
  }
  return true;
}

/// Bytes of a row in a .tbl file: measured at scale factor 1, where each key has most of its
/// digits; ten times the scale is a digit more.
struct TblRow {
  double bytes;
  double keys;
};

TblRow tbl_row(TableId table) noexcept {
  switch (table) {
    case TableId::region: return {.bytes = 104, .keys = 0};
    case TableId::nation: return {.bytes = 88, .keys = 0};
    case TableId::supplier: return {.bytes = 141, .keys = 1};
    case TableId::customer: return {.bytes = 162, .keys = 1};
    case TableId::part: return {.bytes = 121, .keys = 1};
    case TableId::partsupp: return {.bytes = 149, .keys = 2};
    case TableId::orders: return {.bytes = 115, .keys = 2};
    case TableId::lineitem: return {.bytes = 127, .keys = 3};
  }
  return {.bytes = 0, .keys = 0};
}

}  // namespace

std::string_view name_of(TableId table) noexcept {
  switch (table) {
    case TableId::region: return "region";
    case TableId::nation: return "nation";
    case TableId::supplier: return "supplier";
    case TableId::customer: return "customer";
    case TableId::part: return "part";
    case TableId::partsupp: return "partsupp";
    case TableId::orders: return "orders";
    case TableId::lineitem: return "lineitem";
  }
  return "unknown";
}

Scale::Scale(double factor) : factor_(factor) {
  if (!(factor >= kScaleFactorMin && factor <= kScaleFactorMax)) {
    throw UsageError(fmt::format("--scale_factor={}: must be from {} to {}", factor,
                                 kScaleFactorMin, kScaleFactorMax));
  }
  if (!suppliers_differ(suppliers(), parts())) {
    throw UsageError(
        fmt::format("--scale_factor={}: with {} suppliers, the specification's formula gives a "
                    "part the same one twice; 0.01, or 0.03 and more, will do",
                    factor, suppliers()));
  }
}

std::uint64_t Scale::rows(TableId table) const noexcept {
  switch (table) {
    case TableId::region: return kRegions;
    case TableId::nation: return kNations;
    case TableId::supplier: return suppliers();
    case TableId::customer: return customers();
    case TableId::part: return parts();
    case TableId::partsupp: return parts() * kSuppliersOfPart;
    case TableId::orders: return orders();
    case TableId::lineitem: return orders() * (1 + kLinesMax) / 2;
  }
  return 0;
}

std::uint64_t Scale::tbl_bytes(TableId table) const noexcept {
  const TblRow row = tbl_row(table);
  const double bytes_of_row = row.bytes + row.keys * std::log10(factor_);
  return static_cast<std::uint64_t>(static_cast<double>(rows(table)) * bytes_of_row);
}

std::uint64_t Scale::scaled(std::uint64_t of_factor_one) const noexcept {
  const double rows = static_cast<double>(of_factor_one) * factor_;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(rows)));
}

}  // namespace palimpsest::experiments::tpch
