// The interface that TATP needs from an engine: the concept Session, one thread's access to the
// four tables.
//
// The operations of tables/session.h, which says what may fail and how, and in addition:
//   find_subscriber(number, subscriber)
//                         sets `subscriber` to the key of the subscriber with that SUB_NBR, or
//                         finds none: missing
//   visit_special_facilities(subscriber, visit)
//                         calls visit(const SpecialFacilityKey&, const SpecialFacilityRow&) for all
//                         of that subscriber, in key order; done even if there is none
//   visit_call_forwardings(facility, visit)
//                         the same for a special facility and its call forwardings
// Thread-safety: one session belongs to one thread; sessions of one database work concurrently.
#pragma once

#include <concepts>

#include "experiments/tables/session.h"
#include "experiments/tatp/keys.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

namespace detail {

template <class Key>
struct RowVisitor {
  void operator()(const Key& key, const RowOf<Key>& row) const;
};

template <class S>
concept Visits = requires(S& session, const PhoneNumber& number, SubscriberKey& subscriber,
                          const SpecialFacilityKey& facility,
                          const RowVisitor<SpecialFacilityKey>& visit_facility,
                          const RowVisitor<CallForwardingKey>& visit_forwarding) {
  { session.find_subscriber(number, subscriber) } -> std::same_as<Access>;
  { session.visit_special_facilities(subscriber, visit_facility) } -> std::same_as<Access>;
  { session.visit_call_forwardings(facility, visit_forwarding) } -> std::same_as<Access>;
};

}  // namespace detail

template <class S>
concept Session =
    Begins<S> && detail::Visits<S> && Reads<S, SubscriberKey> && Reads<S, AccessInfoKey> &&
    Reads<S, SpecialFacilityKey> && Updates<S, SubscriberKey> && Updates<S, SpecialFacilityKey> &&
    Inserts<S, CallForwardingKey> && Erases<S, CallForwardingKey>;

}  // namespace palimpsest::experiments::tatp
