#include "experiments/tatp/consistency.h"

#include <fmt/format.h>

namespace palimpsest::experiments::tatp {

void Violations::add(int condition, std::string_view subject, std::string_view what) {
  ++count_;
  if (first_.size() < kKept) {
    first_.push_back(fmt::format("condition {}: {} {}", condition, subject, what));
  }
}

namespace detail {

bool may_become(SubscriberRow loaded, const SubscriberRow& row) noexcept {
  loaded.bits[0] = row.bits[0];
  loaded.vlr_location = row.vlr_location;
  return loaded == row && row.bits[0] <= 1 && row.vlr_location != 0;
}

bool may_become(const AccessInfoRow& loaded, const AccessInfoRow& row) noexcept {
  return loaded == row;
}

bool may_become(SpecialFacilityRow loaded, const SpecialFacilityRow& row) noexcept {
  loaded.data_a = row.data_a;
  return loaded == row;
}

const char* fault_of(const CallForwardingKey& key, const CallForwardingRow& row) {
  if (key.start_time % kHoursBetween != 0 || key.start_time / kHoursBetween >= kStartTimes) {
    return "has a start time that does not exist";
  }
  if (row.end_time < 1 || row.end_time > kHoursOfDay) {
    return "has an end time that does not exist";
  }
  const std::string_view number = row.number.view();
  const bool is_number = number.size() == PhoneNumber::kMaxBytes &&
                         number.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? nullptr : "has a malformed number";
}

void IndexCheck::miss_until(Number subscriber) {
  for (; next_ < subscriber; ++next_) {
    violations_.add(1, describe(SubscriberNumberKey{number_of(next_), next_}), "is missing");
  }
}

void IndexCheck::add(const SubscriberNumberKey& entry) {
  const bool counts = entry.subscriber >= next_ && entry.subscriber <= subscribers_;
  if (!counts || entry.number != number_of(entry.subscriber)) {
    violations_.add(1, describe(entry), "was never loaded");
    return;
  }
  miss_until(entry.subscriber);
  ++next_;
}

void IndexCheck::finish() {
  miss_until(subscribers_ + 1);
}

void check_count(const ForwardingRows& rows, const ForwardingChanges& changes,
                 Violations& violations) {
  // Wraps if more rows were deleted than existed: then the number is wrong as well.
  const std::uint64_t expected =
      changes.rows_before.value_or(rows.loaded) + changes.inserted - changes.deleted;
  if (rows.there != expected) {
    violations.add(5, "call_forwarding", fmt::format("has {} rows, not {}", rows.there, expected));
  }
}

}  // namespace detail

}  // namespace palimpsest::experiments::tatp
