// TATP's seven transactions over any Session: run() with one of the inputs.
//
//   Outcome run(S& session, const GetSubscriberDataInput& input, Output& output)    and so on
//   Outcome run(S& session, const Input& input, Output& output)
// Each begins its transaction and ends it: committed; rolled back because the row to be changed
// does not exist, or the one to be inserted does, as is so for a known share of the inputs; or
// rolled back because of a conflict, after which the caller may run the same input again.
// A read-only transaction commits whether it finds its row or not; output.found says which.
// Failure: DamagedRecord for wrong contents of the database; the session's errors. The transaction
//          is rolled back then.
// Thread-safety: that of the session.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <variant>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tatp/input.h"
#include "experiments/tatp/session.h"

namespace palimpsest::experiments::tatp {

/// The results of read-only transactions, in reused memory. Meaningful only after a commit, and
/// only the members that the transaction reads.
struct Output {
  bool found = false;
  SubscriberRow subscriber;
  AccessInfoRow access_info;
  std::size_t destination_count = 0;
  std::array<PhoneNumber, static_cast<std::size_t>(kStartTimes)> destinations;
};

namespace detail {

/// The subscriber with that number, which must exist. False: a conflict.
template <Session S>
[[nodiscard]] bool find_subscriber(TransactionScope<S>& scope, const PhoneNumber& number,
                                   SubscriberKey& subscriber) {
  const Access found = scope.session().find_subscriber(number, subscriber);
  if (found == Access::missing) {
    report_damage(found, "the subscriber with number " + std::string(number.view()));
  }
  return found == Access::done;
}

/// Ends a transaction by the outcome of its only or last change: `missing` and `exists` roll it
/// back.
template <Session S>
[[nodiscard]] Outcome end(TransactionScope<S>& scope, Access change) {
  switch (change) {
    case Access::done: return scope.commit();
    case Access::conflict: return Outcome::conflict;
    case Access::missing:
    case Access::exists: break;
  }
  return Outcome::rolled_back;
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const GetSubscriberDataInput& input, Output& output) {
  TransactionScope scope(session, Intent::read_only);
  output.found =
      scope.read(input.subscriber, [&](const SubscriberRow& row) { output.subscriber = row; });
  return output.found ? scope.commit() : Outcome::conflict;
}

template <Session S>
Outcome run(S& session, const GetNewDestinationInput& input, Output& output) {
  TransactionScope scope(session, Intent::read_only);
  output.destination_count = 0;
  bool is_active = false;
  const Access facility = session.read(
      input.facility, [&](const SpecialFacilityRow& row) { is_active = row.is_active == 1; });
  if (facility == Access::conflict) {
    return Outcome::conflict;
  }
  if (facility == Access::done && is_active) {
    const Access forwardings = session.visit_call_forwardings(
        input.facility, [&](const CallForwardingKey& key, const CallForwardingRow& row) {
          if (key.start_time <= input.start_time && input.end_time < row.end_time &&
              output.destination_count < output.destinations.size()) {
            output.destinations[output.destination_count++] = row.number;
          }
        });
    if (forwardings != Access::done) {
      return Outcome::conflict;
    }
  }
  output.found = output.destination_count != 0;
  return scope.commit();
}

template <Session S>
Outcome run(S& session, const GetAccessDataInput& input, Output& output) {
  TransactionScope scope(session, Intent::read_only);
  const Access found =
      session.read(input.access_info, [&](const AccessInfoRow& row) { output.access_info = row; });
  output.found = found == Access::done;
  return found == Access::conflict ? Outcome::conflict : scope.commit();
}

template <Session S>
Outcome run(S& session, const UpdateSubscriberDataInput& input, Output&) {
  TransactionScope scope(session, Intent::read_write);
  if (!scope.update(SubscriberKey{input.facility.subscriber},
                    [&](SubscriberRow& row) { row.bits[0] = input.bit_1; })) {
    return Outcome::conflict;
  }
  return detail::end(scope, session.update(input.facility, [&](SpecialFacilityRow& row) {
    row.data_a = input.data_a;
  }));
}

template <Session S>
Outcome run(S& session, const UpdateLocationInput& input, Output&) {
  TransactionScope scope(session, Intent::read_write);
  SubscriberKey subscriber;
  const bool done =
      detail::find_subscriber(scope, input.subscriber, subscriber) &&
      scope.update(subscriber, [&](SubscriberRow& row) { row.vlr_location = input.vlr_location; });
  return done ? scope.commit() : Outcome::conflict;
}

template <Session S>
Outcome run(S& session, const InsertCallForwardingInput& input, Output&) {
  TransactionScope scope(session, Intent::read_write);
  SubscriberKey subscriber;
  if (!detail::find_subscriber(scope, input.subscriber, subscriber)) {
    return Outcome::conflict;
  }
  // Reads all facilities, as the specification says; the named one must be among them: it is a
  // foreign key of the row.
  bool has_facility = false;
  const Access facilities = session.visit_special_facilities(
      subscriber, [&](const SpecialFacilityKey& key, const SpecialFacilityRow&) {
        has_facility = has_facility || key.type == input.facility;
      });
  if (facilities != Access::done) {
    return Outcome::conflict;
  }
  if (!has_facility) {
    return Outcome::rolled_back;
  }
  const CallForwardingKey key{subscriber.subscriber, input.facility, input.start_time};
  return detail::end(scope, session.insert(key, input.row));
}

template <Session S>
Outcome run(S& session, const DeleteCallForwardingInput& input, Output&) {
  TransactionScope scope(session, Intent::read_write);
  SubscriberKey subscriber;
  if (!detail::find_subscriber(scope, input.subscriber, subscriber)) {
    return Outcome::conflict;
  }
  const CallForwardingKey key{subscriber.subscriber, input.facility, input.start_time};
  return detail::end(scope, session.erase(key));
}

template <Session S>
Outcome run(S& session, const Input& input, Output& output) {
  return std::visit([&](const auto& one) { return run(session, one, output); }, input);
}

}  // namespace palimpsest::experiments::tatp
