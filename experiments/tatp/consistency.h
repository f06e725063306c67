// What must hold of a TATP database after any transactions, checked by scans against the
// population.
//
// The specification has no such conditions. These follow from what its transactions can do:
//  (1) SUBSCRIBER, and the index of numbers, have the rows of the population; but for BIT_1, still
//      0 or 1, and VLR_LOCATION, not 0, each is as it was loaded.
//  (2) ACCESS_INFO has the rows of the population, as they were loaded.
//  (3) SPECIAL_FACILITY has the rows of the population; but for DATA_A each is as it was loaded.
//  (4) Every row of CALL_FORWARDING has its special facility, a start time of 0, 8 or 16, an end
//      time of 1 to 24, and a number of 15 digits.
//  (5) CALL_FORWARDING has the number of rows that were loaded, or counted at some time, plus those
//      inserted and minus those deleted by transactions that have committed since.
// Memory: of the rows of kSubscribersOfPass subscribers.
// A Reader shows one state of the database, in which no transaction is active:
//   reader.scan(const Key& first, const Key& last, visit)
// calls visit(const Key&, const RowOf<Key>&) for all rows from first to last, both included, in key
// order; for the index visit(const SubscriberNumberKey&).
// Failure: violations are values; the reader's exceptions pass through.
// Thread-safety: one check belongs to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/tatp/keys.h"
#include "experiments/tatp/population.h"
#include "experiments/tatp/rows.h"

namespace palimpsest::experiments::tatp {

/// All violations are counted, the first kKept are kept.
class Violations {
 public:
  static constexpr std::size_t kKept = 100;

  /// "condition 2: access_info (7, 1) is missing"
  void add(int condition, std::string_view subject, std::string_view what);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] const std::vector<std::string>& first() const noexcept { return first_; }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::string> first_;
};

/// The changes of CALL_FORWARDING by committed transactions.
struct ForwardingChanges {
  /// Rows before them; nothing: as many as were loaded.
  std::optional<std::uint64_t> rows_before{};
  std::uint64_t inserted = 0;
  std::uint64_t deleted = 0;
};

inline constexpr Number kSubscribersOfPass = 1'000;

namespace detail {

/// Whether transactions may have changed the row `loaded` to `row`.
[[nodiscard]] bool may_become(SubscriberRow loaded, const SubscriberRow& row) noexcept;
[[nodiscard]] bool may_become(const AccessInfoRow& loaded, const AccessInfoRow& row) noexcept;
[[nodiscard]] bool may_become(SpecialFacilityRow loaded, const SpecialFacilityRow& row) noexcept;

/// Condition 4, without the special facility; nullptr, or the error.
[[nodiscard]] const char* fault_of(const CallForwardingKey& key, const CallForwardingRow& row);

/// Rows as they were loaded; each is removed when it is seen.
template <class Key>
class Expected {
 public:
  void add(const Key& key, const RowOf<Key>& row) { rows_.emplace_hint(rows_.end(), key, row); }
  [[nodiscard]] bool has(const Key& key) const { return rows_.contains(key); }

  template <class Reader>
  void compare(Reader& reader, const Key& first, const Key& last, int condition,
               Violations& violations) {
    auto next = rows_.begin();
    const auto miss_until = [&](const Key* end) {
      for (; next != rows_.end() && (end == nullptr || next->first < *end); ++next) {
        violations.add(condition, describe(next->first), "is missing");
      }
    };
    reader.scan(first, last, [&](const Key& key, const RowOf<Key>& row) {
      miss_until(&key);
      if (next == rows_.end() || next->first != key) {
        violations.add(condition, describe(key), "was never loaded");
        return;
      }
      if (!may_become(next->second, row)) {
        violations.add(condition, describe(key), "has values that no transaction wrote");
      }
      ++next;
    });
    miss_until(nullptr);
  }

 private:
  std::map<Key, RowOf<Key>> rows_;
};

/// Subscribers that are checked together, and the range of keys that is searched for their rows: it
/// also covers keys before the first subscriber and after the last one.
struct Pass {
  Number first = 0;
  Number last = 0;
  Number scan_first = 0;
  Number scan_last = 0;
};

/// Rows of CALL_FORWARDING.
struct ForwardingRows {
  std::uint64_t loaded = 0;
  std::uint64_t there = 0;
};

/// All conditions but 5, and the index. Counts CALL_FORWARDING for that one.
template <class Reader>
void check_subscribers(Reader& reader, const Population& population, const Pass& pass,
                       ForwardingRows& forwardings, Violations& violations) {
  const auto& [first, last, from, to] = pass;
  constexpr SmallNumber kMost = std::numeric_limits<SmallNumber>::max();
  Expected<SubscriberKey> subscribers;
  population.subscribers(first, last, subscribers);
  subscribers.compare(reader, {from}, {to}, 1, violations);
  Expected<AccessInfoKey> access_infos;
  population.access_infos(first, last, access_infos);
  access_infos.compare(reader, {from, 0}, {to, kMost}, 2, violations);
  Expected<SpecialFacilityKey> facilities;
  population.special_facilities(first, last, facilities);
  facilities.compare(reader, {from, 0}, {to, kMost}, 3, violations);

  struct Counter {
    std::uint64_t& rows;
    void add(const CallForwardingKey&, const CallForwardingRow&) { ++rows; }
  };
  population.call_forwardings(first, last, Counter{forwardings.loaded});
  reader.scan(CallForwardingKey{from, 0, 0}, CallForwardingKey{to, kMost, kMost},
              [&](const CallForwardingKey& key, const CallForwardingRow& row) {
                ++forwardings.there;
                const char* fault = fault_of(key, row);
                if (fault == nullptr && !facilities.has({key.subscriber, key.facility})) {
                  fault = "has no special facility";
                }
                if (fault != nullptr) {
                  violations.add(4, describe(key), fault);
                }
              });
}

/// The index of numbers: that of every subscriber, and no more.
class IndexCheck {
 public:
  IndexCheck(Number subscribers, Violations& violations)
      : subscribers_(subscribers), violations_(violations) {}

  /// Numbers are in the order of subscribers.
  void add(const SubscriberNumberKey& entry);
  void finish();

 private:
  void miss_until(Number subscriber);

  Number subscribers_;
  Violations& violations_;
  Number next_ = 1;
};

/// Condition 5.
void check_count(const ForwardingRows& rows, const ForwardingChanges& changes,
                 Violations& violations);

}  // namespace detail

/// All conditions of a database with that many subscribers.
template <class Reader>
[[nodiscard]] Violations check_consistency(Reader& reader, const Population& population,
                                           Number subscribers, const ForwardingChanges& changes) {
  using Limits = std::numeric_limits<Number>;
  Violations violations;
  detail::ForwardingRows forwardings;
  for (Number first = 1; first <= subscribers; first += kSubscribersOfPass) {
    const Number last = std::min(subscribers, first + (kSubscribersOfPass - 1));
    const detail::Pass pass{.first = first,
                            .last = last,
                            .scan_first = first == 1 ? Limits::min() : first,
                            .scan_last = last == subscribers ? Limits::max() : last};
    detail::check_subscribers(reader, population, pass, forwardings, violations);
  }
  detail::IndexCheck index(subscribers, violations);
  reader.scan(SubscriberNumberKey{PhoneNumber(), Limits::min()},
              SubscriberNumberKey{PhoneNumber(std::string(15, '\xff')), Limits::max()},
              [&](const SubscriberNumberKey& entry) { index.add(entry); });
  index.finish();
  detail::check_count(forwardings, changes, violations);
  return violations;
}

/// How many rows CALL_FORWARDING has.
template <class Reader>
[[nodiscard]] std::uint64_t count_call_forwardings(Reader& reader) {
  using Limits = std::numeric_limits<Number>;
  constexpr SmallNumber kMost = std::numeric_limits<SmallNumber>::max();
  std::uint64_t rows = 0;
  reader.scan(CallForwardingKey{Limits::min(), 0, 0},
              CallForwardingKey{Limits::max(), kMost, kMost},
              [&](const CallForwardingKey&, const CallForwardingRow&) { ++rows; });
  return rows;
}

}  // namespace palimpsest::experiments::tatp
