// The inputs of TATP's seven transactions, and the mix in which they come.
//
// An input is complete: to repeat a transaction after a conflict, run the same input again. Some
// inputs name rows that may not exist; the population determines how many find theirs.
// Thread-safety: one source belongs to one thread; inputs are plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/random.h"
#include "experiments/tatp/keys.h"
#include "experiments/tatp/random.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

/// In the order of the alternatives of Input.
enum class TransactionType : std::uint8_t {
  get_subscriber_data,
  get_new_destination,
  get_access_data,
  update_subscriber_data,
  update_location,
  insert_call_forwarding,
  delete_call_forwarding,
};
inline constexpr std::size_t kTransactionTypes = 7;

/// Of 100 transactions on average, in the order of TransactionType: 80 only read.
inline constexpr std::array<Number, kTransactionTypes> kShares = {35, 10, 35, 2, 14, 2, 2};

/// Its name in results.
[[nodiscard]] std::string_view name_of(TransactionType type) noexcept;

struct GetSubscriberDataInput {
  SubscriberKey subscriber;
};

struct GetNewDestinationInput {
  SpecialFacilityKey facility;
  SmallNumber start_time = 0;
  SmallNumber end_time = 0;  ///< 1 to 24
};

struct GetAccessDataInput {
  AccessInfoKey access_info;
};

struct UpdateSubscriberDataInput {
  SpecialFacilityKey facility;
  SmallNumber bit_1 = 0;
  SmallNumber data_a = 0;
};

struct UpdateLocationInput {
  PhoneNumber subscriber;
  Location vlr_location = 0;
};

struct InsertCallForwardingInput {
  PhoneNumber subscriber;
  SmallNumber facility = 0;
  SmallNumber start_time = 0;
  CallForwardingRow row;
};

struct DeleteCallForwardingInput {
  PhoneNumber subscriber;
  SmallNumber facility = 0;
  SmallNumber start_time = 0;
};

using Input = std::variant<GetSubscriberDataInput, GetNewDestinationInput, GetAccessDataInput,
                           UpdateSubscriberDataInput, UpdateLocationInput,
                           InsertCallForwardingInput, DeleteCallForwardingInput>;

[[nodiscard]] inline TransactionType type_of(const Input& input) noexcept {
  return static_cast<TransactionType>(input.index());
}

class InputSource {
 public:
  /// `subscribers`, at least 1, is their number.
  InputSource(std::uint64_t seed, Number subscribers, Choice choice) noexcept;

  /// The next transaction of the mix.
  [[nodiscard]] Input next() noexcept;

  [[nodiscard]] GetSubscriberDataInput get_subscriber_data() noexcept;
  [[nodiscard]] GetNewDestinationInput get_new_destination() noexcept;
  [[nodiscard]] GetAccessDataInput get_access_data() noexcept;
  [[nodiscard]] UpdateSubscriberDataInput update_subscriber_data() noexcept;
  [[nodiscard]] UpdateLocationInput update_location() noexcept;
  [[nodiscard]] InsertCallForwardingInput insert_call_forwarding() noexcept;
  [[nodiscard]] DeleteCallForwardingInput delete_call_forwarding() noexcept;

 private:
  [[nodiscard]] Number subscriber() noexcept;
  [[nodiscard]] TransactionType type() noexcept;

  Random random_;
  Number subscribers_;
  Choice choice_;
};

}  // namespace palimpsest::experiments::tatp
