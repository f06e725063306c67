#include "experiments/tatp/population.h"

#include <utility>

#include "experiments/common/mix.h"

namespace palimpsest::experiments::tatp {

/// The uses of random numbers: no two uses share a sequence.
enum class Population::Stream : std::uint8_t {
  subscriber = 1,
  access_info,
  special_facility,
  call_forwarding,
  access_info_types,
  special_facility_types,
  start_times,
};

namespace {

/// Whether `member` of [0, size) is in a random subset with `count` members.
bool in_subset(Random& random, Number member, Number size, Number count) noexcept {
  // Each member is taken with the probability that fits the number still needed.
  for (Number at = 0; at < size && count > 0; ++at) {
    const bool taken = number_between(random, 1, size - at) <= count;
    if (at == member) {
      return taken;
    }
    count -= taken ? 1 : 0;
  }
  return false;
}

template <std::size_t kCount>
void fill_numbers(Random& random, Number high, std::array<SmallNumber, kCount>& numbers) noexcept {
  for (SmallNumber& number : numbers) {
    number = small_between(random, 0, high);
  }
}

}  // namespace

Random Population::random_of(Stream stream, Number subscriber, SmallNumber type,
                             SmallNumber start_time) const noexcept {
  const std::uint64_t of_stream = mix64(seed_ + static_cast<std::uint64_t>(stream));
  const std::uint64_t place = static_cast<std::uint64_t>(subscriber) << 16 |
                              static_cast<std::uint64_t>(type) << 8 | start_time;
  return Random(mix64(of_stream ^ mix64(place)));
}

bool Population::has(const AccessInfoKey& key) const noexcept {
  Random random = random_of(Stream::access_info_types, key.subscriber, 0, 0);
  const Number count = number_between(random, 1, kTypes);
  return in_subset(random, key.type - 1, kTypes, count);
}

bool Population::has(const SpecialFacilityKey& key) const noexcept {
  Random random = random_of(Stream::special_facility_types, key.subscriber, 0, 0);
  const Number count = number_between(random, 1, kTypes);
  return in_subset(random, key.type - 1, kTypes, count);
}

bool Population::has(const CallForwardingKey& key) const noexcept {
  if (!has(SpecialFacilityKey{key.subscriber, key.facility}) ||
      key.start_time % kHoursBetween != 0) {
    return false;
  }
  Random random = random_of(Stream::start_times, key.subscriber, key.facility, 0);
  const Number count = number_between(random, 0, kStartTimes);
  return in_subset(random, key.start_time / kHoursBetween, kStartTimes, count);
}

SubscriberRow Population::row(const SubscriberKey& key) const noexcept {
  Random random = random_of(Stream::subscriber, key.subscriber, 0, 0);
  SubscriberRow row;
  row.number = number_of(key.subscriber);
  fill_numbers(random, 1, row.bits);
  fill_numbers(random, 15, row.hexes);
  fill_numbers(random, 255, row.bytes);
  row.msc_location = random_location(random);
  row.vlr_location = random_location(random);
  return row;
}

AccessInfoRow Population::row(const AccessInfoKey& key) const noexcept {
  Random random = random_of(Stream::access_info, key.subscriber, key.type, 0);
  AccessInfoRow row;
  row.data_1 = small_between(random, 0, 255);
  row.data_2 = small_between(random, 0, 255);
  row.data_3 = random_capitals<3>(random);
  row.data_4 = random_capitals<5>(random);
  return row;
}

SpecialFacilityRow Population::row(const SpecialFacilityKey& key) const noexcept {
  Random random = random_of(Stream::special_facility, key.subscriber, key.type, 0);
  SpecialFacilityRow row;
  row.is_active = percent_of(random, 85) ? 1 : 0;
  row.error_control = small_between(random, 0, 255);
  row.data_a = small_between(random, 0, 255);
  row.data_b = random_capitals<5>(random);
  return row;
}

CallForwardingRow Population::row(const CallForwardingKey& key) const noexcept {
  Random random = random_of(Stream::call_forwarding, key.subscriber, key.facility, key.start_time);
  CallForwardingRow row;
  row.end_time = static_cast<SmallNumber>(key.start_time + number_between(random, 1, 8));
  row.number = random_digits<15>(random);
  return row;
}

}  // namespace palimpsest::experiments::tatp
