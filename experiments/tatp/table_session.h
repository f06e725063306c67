// TATP's session on any store (oltp/store.h): the concept Session of session.h.
#pragma once

#include <limits>

#include "experiments/oltp/table_session.h"
#include "experiments/tatp/keys.h"
#include "experiments/tatp/rows.h"
#include "experiments/tatp/session.h"

namespace palimpsest::experiments::tatp {

template <StoreSession S>
class TableSession : public oltp::TableSession<S> {
  using Base = oltp::TableSession<S>;

 public:
  using Base::Base;

  Access find_subscriber(const PhoneNumber& number, SubscriberKey& subscriber) {
    using Limits = std::numeric_limits<Number>;
    bool found = false;
    const Access access = Base::visit_keys(
        SubscriberNumberKey{number, Limits::min()}, SubscriberNumberKey{number, Limits::max()},
        Direction::forward, [&](const SubscriberNumberKey& entry) {
          subscriber = {entry.subscriber};
          found = true;
          return false;
        });
    return access == Access::done && !found ? Access::missing : access;
  }

  template <class Visit>
  Access visit_special_facilities(const SubscriberKey& subscriber, Visit&& visit) {
    const Number of = subscriber.subscriber;
    return visit_all(SpecialFacilityKey{of, 0}, SpecialFacilityKey{of, kLast}, visit);
  }

  template <class Visit>
  Access visit_call_forwardings(const SpecialFacilityKey& facility, Visit&& visit) {
    const auto& [of, type] = facility;
    return visit_all(CallForwardingKey{of, type, 0}, CallForwardingKey{of, type, kLast}, visit);
  }

 private:
  static constexpr SmallNumber kLast = std::numeric_limits<SmallNumber>::max();

  template <class Key, class Visit>
  Access visit_all(const Key& first, const Key& last, Visit& visit) {
    return Base::visit_rows(first, last, Direction::forward,
                            [&](const Key& key, const RowOf<Key>& row) {
                              visit(key, row);
                              return true;
                            });
  }
};

}  // namespace palimpsest::experiments::tatp
