#include "experiments/kv_bench/records.h"

#include <fmt/format.h>

#include <algorithm>

namespace palimpsest::experiments {

void fill_value(std::uint64_t record, std::span<char> out) noexcept {
  const std::uint64_t stamp = stamp_of(record);
  std::memcpy(out.data(), &stamp, kStampBytes);
  std::memset(out.data() + kStampBytes, 0, kValueBytesMin - kStampBytes);
  Random filler(stamp);
  for (std::size_t at = kValueBytesMin; at < out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = filler();
    std::memcpy(out.data() + at, &word, std::min(sizeof word, out.size() - at));
  }
}

void ScanSink::finish() {
  report();
  if (damaged_) {
    throw DamagedRecord(fmt::format(
        "scan: the record after {} earlier ones is not record {} as it was loaded", next_, next_));
  }
  if (!complete() && !stop_.load(std::memory_order_relaxed)) {
    throw DamagedRecord(fmt::format("scan: ended at record {}, expected to reach {}", next_, end_));
  }
}

}  // namespace palimpsest::experiments
