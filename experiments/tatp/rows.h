// The four tables of TATP: the columns that are not key (keys.h has those).
//
// columns() lists them as they are stored (tables/encoded_row.h). All texts are fixed ones, so
// every row of a table has the same size.
// Thread-safety: plain values.
#pragma once

#include <array>
#include <cstdint>

#include "experiments/tables/columns.h"
#include "experiments/tables/fixed_text.h"

namespace palimpsest::experiments::tatp {

using SmallNumber = std::uint8_t;
using Location = std::uint32_t;
using PhoneNumber = FixedText<15>;  ///< digits

inline constexpr Number kTypes = 4;         ///< of access infos and special facilities: 1 to 4
inline constexpr Number kStartTimes = 3;    ///< of call forwardings: 0, 8, 16
inline constexpr Number kHoursBetween = 8;  ///< start times
inline constexpr Number kHoursOfDay = 24;

struct SubscriberRow {
  PhoneNumber number;                   ///< SUB_NBR
  std::array<SmallNumber, 10> bits{};   ///< BIT_1 first; 0 or 1
  std::array<SmallNumber, 10> hexes{};  ///< 0 to 15
  std::array<SmallNumber, 10> bytes{};
  Location msc_location = 0;
  Location vlr_location = 0;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.vlr_location, row.msc_location, row.bits, row.hexes, row.bytes,
                      full(row.number));
  }
  bool operator==(const SubscriberRow&) const = default;
};

struct AccessInfoRow {
  SmallNumber data_1 = 0;
  SmallNumber data_2 = 0;
  FixedText<3> data_3;
  FixedText<5> data_4;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.data_1, row.data_2, full(row.data_3), full(row.data_4));
  }
  bool operator==(const AccessInfoRow&) const = default;
};

struct SpecialFacilityRow {
  SmallNumber is_active = 0;
  SmallNumber error_control = 0;
  SmallNumber data_a = 0;
  FixedText<5> data_b;
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.is_active, row.error_control, row.data_a, full(row.data_b));
  }
  bool operator==(const SpecialFacilityRow&) const = default;
};

struct CallForwardingRow {
  SmallNumber end_time = 0;  ///< 1 to 24
  PhoneNumber number;        ///< NUMBERX
  static constexpr auto columns(auto& row) noexcept {
    return columns_of(row.end_time, full(row.number));
  }
  bool operator==(const CallForwardingRow&) const = default;
};

}  // namespace palimpsest::experiments::tatp
