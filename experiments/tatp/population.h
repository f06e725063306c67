// The initial population of TATP: every row as a function of seed and key.
//
// Each subscriber has 1 to 4 access infos and as many special facilities, each facility 0 to 3 call
// forwardings: every number is equally probable, and so is every choice of types or start times.
// A row needs no other row and no state: threads may load different subscribers or tables in any
// order, and the result is the same.
// Rows go to a sink, in key order for each call, so that an engine may build its trees in bulk:
//   sink.add(const Key& key, const RowOf<Key>& row)    for the four tables
//   sink.add(const SubscriberNumberKey& key)           for the index
// Thread-safety: immutable.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "experiments/tatp/keys.h"
#include "experiments/tatp/random.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

class Population {
 public:
  explicit Population(std::uint64_t seed) noexcept : seed_(seed) {}

  [[nodiscard]] SubscriberRow row(const SubscriberKey& key) const noexcept;
  [[nodiscard]] AccessInfoRow row(const AccessInfoKey& key) const noexcept;
  [[nodiscard]] SpecialFacilityRow row(const SpecialFacilityKey& key) const noexcept;
  [[nodiscard]] CallForwardingRow row(const CallForwardingKey& key) const noexcept;

  /// Which rows exist.
  [[nodiscard]] bool has(const AccessInfoKey& key) const noexcept;
  [[nodiscard]] bool has(const SpecialFacilityKey& key) const noexcept;
  [[nodiscard]] bool has(const CallForwardingKey& key) const noexcept;

  /// Everything of the subscribers [first, last]: table after table, then the index.
  template <class Sink>
  void load(Number first, Number last, Sink&& sink) const;

  /// The parts of that, for loading table by table.
  template <class Sink>
  void subscribers(Number first, Number last, Sink&& sink) const;
  template <class Sink>
  void access_infos(Number first, Number last, Sink&& sink) const;
  template <class Sink>
  void special_facilities(Number first, Number last, Sink&& sink) const;
  template <class Sink>
  void call_forwardings(Number first, Number last, Sink&& sink) const;
  template <class Sink>
  void subscriber_numbers(Number first, Number last, Sink&& sink) const;

 private:
  enum class Stream : std::uint8_t;

  /// The random numbers of one row, or of one choice of rows.
  [[nodiscard]] Random random_of(Stream stream, Number subscriber, SmallNumber type,
                                 SmallNumber start_time) const noexcept;

  std::uint64_t seed_;
};

/// Calls visit(subscriber, type) for every type of every subscriber of [first, last], in order.
template <class Visit>
void for_each_type(Number first, Number last, Visit visit) {
  for (Number subscriber = first; subscriber <= last; ++subscriber) {
    for (Number type = 1; type <= kTypes; ++type) {
      visit(subscriber, static_cast<SmallNumber>(type));
    }
  }
}

template <class Sink>
void Population::load(Number first, Number last, Sink&& sink) const {
  subscribers(first, last, sink);
  access_infos(first, last, sink);
  special_facilities(first, last, sink);
  call_forwardings(first, last, sink);
  subscriber_numbers(first, last, sink);
}

template <class Sink>
void Population::subscribers(Number first, Number last, Sink&& sink) const {
  for (Number subscriber = first; subscriber <= last; ++subscriber) {
    const SubscriberKey key{subscriber};
    sink.add(key, row(key));
  }
}

template <class Sink>
void Population::access_infos(Number first, Number last, Sink&& sink) const {
  for_each_type(first, last, [&](Number subscriber, SmallNumber type) {
    const AccessInfoKey key{subscriber, type};
    if (has(key)) {
      sink.add(key, row(key));
    }
  });
}

template <class Sink>
void Population::special_facilities(Number first, Number last, Sink&& sink) const {
  for_each_type(first, last, [&](Number subscriber, SmallNumber type) {
    const SpecialFacilityKey key{subscriber, type};
    if (has(key)) {
      sink.add(key, row(key));
    }
  });
}

template <class Sink>
void Population::call_forwardings(Number first, Number last, Sink&& sink) const {
  for_each_type(first, last, [&](Number subscriber, SmallNumber type) {
    for (Number i = 0; i < kStartTimes; ++i) {
      const CallForwardingKey key{subscriber, type, static_cast<SmallNumber>(i * kHoursBetween)};
      if (has(key)) {
        sink.add(key, row(key));
      }
    }
  });
}

template <class Sink>
void Population::subscriber_numbers(Number first, Number last, Sink&& sink) const {
  for (Number subscriber = first; subscriber <= last; ++subscriber) {
    sink.add(SubscriberNumberKey{number_of(subscriber), subscriber});
  }
}

}  // namespace palimpsest::experiments::tatp
