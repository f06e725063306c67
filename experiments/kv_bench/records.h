// The records of kv_bench: what record i looks like, and how a value read back is verified.
//
// Key of record i: i as 8 bytes big-endian, so that key order is number order. Value (value_bytes,
// at least 16):
//   0 8  stamp    derived from i; compared on every lookup, update and scanned record
//   8 8  counter  little-endian number of updates applied
//  16 .. filler   pseudo-random, derived from i: no engine gains from compression or equal pages
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "experiments/common/bytes.h"
#include "experiments/common/mix.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments {

inline constexpr std::size_t kStampBytes = 8;
inline constexpr std::size_t kValueBytesMin = 16;

/// Writes the value of a fresh record; `out` has kValueBytesMin bytes or more.
void fill_value(std::uint64_t record, std::span<char> out) noexcept;

[[nodiscard]] constexpr std::uint64_t stamp_of(std::uint64_t record) noexcept {
  return mix64(record ^ 0x70616c696d707374U);
}

[[nodiscard]] inline bool has_stamp(std::uint64_t record, const char* value,
                                    std::size_t value_bytes) noexcept {
  std::uint64_t stored = 0;
  if (value_bytes < kStampBytes) {
    return false;
  }
  std::memcpy(&stored, value, kStampBytes);
  return stored == stamp_of(record);
}

/// The number of updates a value carries; `value` has kValueBytesMin bytes or more.
[[nodiscard]] inline std::uint64_t update_count(const char* value) noexcept {
  std::uint64_t count = 0;
  std::memcpy(&count, value + kStampBytes, sizeof count);
  return count;
}

/// The one change every engine makes to a value: verify the stamp, add one to the counter.
class RecordChange {
 public:
  explicit RecordChange(std::uint64_t record) noexcept : record_(record) {}

  /// Applied exactly once per update that is kept; an adapter that retries applies it to a fresh
  /// copy.
  void operator()(std::span<char> value) noexcept {
    if (const std::optional<std::uint64_t> count = count_after(value)) {
      std::memcpy(value.data() + kStampBytes, &*count, sizeof *count);
    }
  }
  /// The counter after the change; nothing for a value with another stamp.
  [[nodiscard]] std::optional<std::uint64_t> count_after(std::span<const char> value) noexcept {
    if (value.size() < kValueBytesMin || !has_stamp(record_, value.data(), value.size())) {
      damaged_ = true;
      return std::nullopt;
    }
    return update_count(value.data()) + 1;
  }

  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

 private:
  std::uint64_t record_;
  bool damaged_ = false;
};

/// Takes the records of a scan and verifies them: numbers without a gap, stamps, sizes. Not
/// virtual, so that every adapter's loop has it inlined.
class ScanSink {
 public:
  /// Expects records [first, first + limit). `stop` ends the scan early; `progress` is raised as
  /// records come in, every few hundred.
  ScanSink(std::uint64_t first, std::uint64_t limit, std::size_t value_bytes,
           const std::atomic<bool>& stop, std::atomic<std::uint64_t>& progress) noexcept
      : next_(first),
        end_(first + limit),
        value_bytes_(value_bytes),
        stop_(stop),
        progress_(progress),
        reported_(first) {}

  /// False when the scan should end. Does not throw, so that an engine may call it under its
  /// latches.
  [[nodiscard]] bool record(ByteView key, ByteView value) noexcept {
    const bool as_expected = key.size() == kKeyBytes && record_of(key) == next_ &&
                             value.size() == value_bytes_ &&
                             has_stamp(next_, value.data(), value.size());
    if (!as_expected) [[unlikely]] {
      damaged_ = true;
      return false;
    }
    ++next_;
    if (next_ % kReportEvery == 0) {
      report();
      if (stop_.load(std::memory_order_relaxed)) {
        return false;
      }
    }
    return next_ != end_;
  }

  /// Reports the rest; throws DamagedRecord if a record was wrong or the scan ended too soon.
  void finish();

  /// True if every record expected has come.
  [[nodiscard]] bool complete() const noexcept { return next_ == end_; }

 private:
  static constexpr std::uint64_t kReportEvery = 512;

  void report() noexcept {
    progress_.store(progress_.load(std::memory_order_relaxed) + (next_ - reported_),
                    std::memory_order_relaxed);
    reported_ = next_;
  }

  std::uint64_t next_;
  std::uint64_t end_;
  std::size_t value_bytes_;
  const std::atomic<bool>& stop_;
  std::atomic<std::uint64_t>& progress_;  ///< written by this thread only
  std::uint64_t reported_;
  bool damaged_ = false;
};

}  // namespace palimpsest::experiments
