// A histogram of latencies with bounded relative error and constant cost, one per thread.
//
// Log-linear buckets: below 2^6 each value has its own, above each power of two is cut into 64, so
// that a quantile is at most 1/64 (1.6 %) too high. No library of the distribution offers this;
// sorting raw samples would need gigabytes for a minute of in-memory lookups.
// Thread-safety: none; each thread records into its own, and the owner merges them after the
// threads have ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace palimpsest::experiments {

class Histogram {
 private:
  static constexpr unsigned kPrecisionBits = 6;
  static constexpr std::uint64_t kLinear = std::uint64_t{1} << kPrecisionBits;

 public:
  static constexpr std::size_t kBuckets = (64 - kPrecisionBits + 1) * kLinear;

  Histogram();

  void record(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    ++count_;
    if (value > max_) {
      max_ = value;
    }
  }

  void merge(const Histogram& other) noexcept;

  /// The values recorded after `earlier`, an earlier copy of this histogram. Its max() is that of
  /// its last bucket: at most 1/64 too high.
  [[nodiscard]] Histogram since(const Histogram& earlier) const;

  /// For callers that count by themselves: the bucket of a value; adding `count` values to a
  /// bucket; noting that `max` was among the values.
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept;
  void add(std::size_t bucket, std::uint64_t count) noexcept {
    counts_[bucket] += count;
    count_ += count;
  }
  void raise_max(std::uint64_t max) noexcept { max_ = max > max_ ? max : max_; }

  /// Forgets all values; keeps the memory.
  void clear() noexcept;

  /// The smallest recorded value that at least `fraction` of all values do not exceed, rounded up
  /// to the end of its bucket, and never above max(). 0 if nothing was recorded. fraction in (0,
  /// 1].
  [[nodiscard]] std::uint64_t quantile(double fraction) const noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }

 private:
  [[nodiscard]] static std::uint64_t bucket_end(std::size_t bucket) noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace palimpsest::experiments
