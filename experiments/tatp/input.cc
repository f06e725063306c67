#include "experiments/tatp/input.h"

#include "base/check.h"

namespace palimpsest::experiments::tatp {

std::string_view name_of(TransactionType type) noexcept {
  switch (type) {
    case TransactionType::get_subscriber_data: return "get_subscriber_data";
    case TransactionType::get_new_destination: return "get_new_destination";
    case TransactionType::get_access_data: return "get_access_data";
    case TransactionType::update_subscriber_data: return "update_subscriber_data";
    case TransactionType::update_location: return "update_location";
    case TransactionType::insert_call_forwarding: return "insert_call_forwarding";
    case TransactionType::delete_call_forwarding: return "delete_call_forwarding";
  }
  return "unknown";
}

InputSource::InputSource(std::uint64_t seed, Number subscribers, Choice choice) noexcept
    : random_(seed), subscribers_(subscribers), choice_(choice) {
  check(subscribers >= 1, "transactions without subscribers");
}

Input InputSource::next() noexcept {
  switch (type()) {
    case TransactionType::get_subscriber_data: return get_subscriber_data();
    case TransactionType::get_new_destination: return get_new_destination();
    case TransactionType::get_access_data: return get_access_data();
    case TransactionType::update_subscriber_data: return update_subscriber_data();
    case TransactionType::update_location: return update_location();
    case TransactionType::insert_call_forwarding: return insert_call_forwarding();
    case TransactionType::delete_call_forwarding: break;
  }
  return delete_call_forwarding();
}

TransactionType InputSource::type() noexcept {
  Number percent = number_between(random_, 0, 99);
  std::size_t type = 0;
  while (percent >= kShares[type]) {
    percent -= kShares[type++];
  }
  return static_cast<TransactionType>(type);
}

Number InputSource::subscriber() noexcept {
  return random_subscriber(random_, choice_, subscribers_);
}

GetSubscriberDataInput InputSource::get_subscriber_data() noexcept {
  return {SubscriberKey{subscriber()}};
}

GetNewDestinationInput InputSource::get_new_destination() noexcept {
  const Number of = subscriber();
  return {.facility = {of, random_type(random_)},
          .start_time = random_start_time(random_),
          .end_time = small_between(random_, 1, kHoursOfDay)};
}

GetAccessDataInput InputSource::get_access_data() noexcept {
  const Number of = subscriber();
  return {AccessInfoKey{of, random_type(random_)}};
}

UpdateSubscriberDataInput InputSource::update_subscriber_data() noexcept {
  const Number of = subscriber();
  return {.facility = {of, random_type(random_)},
          .bit_1 = small_between(random_, 0, 1),
          .data_a = small_between(random_, 0, 255)};
}

UpdateLocationInput InputSource::update_location() noexcept {
  return {.subscriber = number_of(subscriber()), .vlr_location = random_location(random_)};
}

InsertCallForwardingInput InputSource::insert_call_forwarding() noexcept {
  return {.subscriber = number_of(subscriber()),
          .facility = random_type(random_),
          .start_time = random_start_time(random_),
          .row = {.end_time = small_between(random_, 1, kHoursOfDay),
                  .number = random_digits<15>(random_)}};
}

DeleteCallForwardingInput InputSource::delete_call_forwarding() noexcept {
  return {.subscriber = number_of(subscriber()),
          .facility = random_type(random_),
          .start_time = random_start_time(random_)};
}

}  // namespace palimpsest::experiments::tatp
