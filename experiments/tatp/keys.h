// The keys of TATP's four tables, and of the index its transactions need.
//
// As in TPC-C a row has its key beside it, not in it; keys are ordered by their columns as
// declared.
// Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "experiments/tables/fixed_text.h"
#include "experiments/tables/key.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

enum class Table : std::uint8_t {
  subscriber = 1,
  access_info,
  special_facility,
  call_forwarding,
  subscriber_number,  ///< index
};

/// Its name in messages.
[[nodiscard]] std::string_view name_of(Table table) noexcept;

struct SubscriberKey {
  using Row = SubscriberRow;
  static constexpr Table kTable = Table::subscriber;
  Number subscriber = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.subscriber); }
  auto operator<=>(const SubscriberKey&) const = default;
};

struct AccessInfoKey {
  using Row = AccessInfoRow;
  static constexpr Table kTable = Table::access_info;
  Number subscriber = 0;
  SmallNumber type = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.subscriber, key.type); }
  auto operator<=>(const AccessInfoKey&) const = default;
};

struct SpecialFacilityKey {
  using Row = SpecialFacilityRow;
  static constexpr Table kTable = Table::special_facility;
  Number subscriber = 0;
  SmallNumber type = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.subscriber, key.type); }
  auto operator<=>(const SpecialFacilityKey&) const = default;
};

struct CallForwardingKey {
  using Row = CallForwardingRow;
  static constexpr Table kTable = Table::call_forwarding;
  Number subscriber = 0;
  SmallNumber facility = 0;  ///< its type
  SmallNumber start_time = 0;
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.subscriber, key.facility, key.start_time);
  }
  auto operator<=>(const CallForwardingKey&) const = default;
};

/// Index: subscribers by SUB_NBR, which never changes.
struct SubscriberNumberKey {
  static constexpr Table kTable = Table::subscriber_number;
  PhoneNumber number;
  Number subscriber = 0;
  static constexpr auto columns(auto& key) noexcept { return std::tie(key.number, key.subscriber); }
  auto operator<=>(const SubscriberNumberKey&) const = default;
};

}  // namespace palimpsest::experiments::tatp
