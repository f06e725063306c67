#include "experiments/common/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace palimpsest::experiments {

Histogram::Histogram() : counts_(kBuckets, 0) {}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    counts_[bucket] += other.counts_[bucket];
  }
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

Histogram Histogram::since(const Histogram& earlier) const {
  Histogram later;
  std::size_t last = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    later.add(bucket, counts_[bucket] - earlier.counts_[bucket]);
    last = later.counts_[bucket] != 0 ? bucket : last;
  }
  later.max_ = later.count_ == 0 ? 0 : std::min(bucket_end(last), max_);
  return later;
}

void Histogram::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  max_ = 0;
}

std::uint64_t Histogram::quantile(double fraction) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted && seen > 0) {
      return std::min(bucket_end(bucket), max_);
    }
  }
  return max_;
}

// Bucket b below 2 * kLinear holds exactly the value b. Above, the bits below the leading
// kPrecisionBits + 1 are cut off, and each such power of two adds kLinear buckets.
std::size_t Histogram::bucket_of(std::uint64_t value) noexcept {
  if (value < kLinear) {
    return value;
  }
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kPrecisionBits;
  return (std::uint64_t{shift} << kPrecisionBits) + (value >> shift);
}

std::uint64_t Histogram::bucket_end(std::size_t bucket) noexcept {
  if (bucket < 2 * kLinear) {
    return bucket;
  }
  const auto shift = static_cast<unsigned>(bucket >> kPrecisionBits) - 1;
  const std::uint64_t leading = bucket - (std::uint64_t{shift} << kPrecisionBits);
  return ((leading + 1) << shift) - 1;
}

}  // namespace palimpsest::experiments
