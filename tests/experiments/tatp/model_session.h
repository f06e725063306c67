// TATP's tables as maps in memory, and a session on them: the model that tests of the transactions
// use in place of an engine. One session at a time.
#pragma once

#include <set>

#include "experiments/tatp/keys.h"
#include "experiments/tatp/session.h"
#include "tests/experiments/tables/model.h"

namespace palimpsest::experiments::tatp::test {

/// A database: a sink of the population, and a reader of the consistency check.
class ModelDatabase : public experiments::test::ModelTables<SubscriberKey, AccessInfoKey,
                                                            SpecialFacilityKey, CallForwardingKey> {
 public:
  using ModelTables::add;
  void add(const SubscriberNumberKey& key) { numbers.insert(key); }

  using ModelTables::scan;
  template <class Visit>
  void scan(const SubscriberNumberKey& first, const SubscriberNumberKey& last,
            Visit&& visit) const {
    for (auto at = numbers.lower_bound(first); at != numbers.end() && *at <= last; ++at) {
      visit(*at);
    }
  }

  bool operator==(const ModelDatabase&) const = default;

  std::set<SubscriberNumberKey> numbers;
};

/// A session with conflicts on request.
class ModelSession : public experiments::test::ModelSession<ModelDatabase> {
 public:
  using experiments::test::ModelSession<ModelDatabase>::ModelSession;

  Access find_subscriber(const PhoneNumber& number, SubscriberKey& subscriber) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto at = database().numbers.lower_bound({number, 0});
    if (at == database().numbers.end() || at->number != number) {
      return Access::missing;
    }
    subscriber = {at->subscriber};
    return Access::done;
  }

  template <class Visit>
  Access visit_special_facilities(const SubscriberKey& subscriber, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    database().scan(SpecialFacilityKey{subscriber.subscriber, 0},
                    SpecialFacilityKey{subscriber.subscriber, 255}, visit);
    return Access::done;
  }

  template <class Visit>
  Access visit_call_forwardings(const SpecialFacilityKey& facility, Visit&& visit) {
    if (meets_conflict()) {
      return Access::conflict;
    }
    const auto [subscriber, type] = facility;
    database().scan(CallForwardingKey{subscriber, type, 0},
                    CallForwardingKey{subscriber, type, 255}, visit);
    return Access::done;
  }
};

static_assert(Session<ModelSession>);

}  // namespace palimpsest::experiments::tatp::test
