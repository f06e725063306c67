// The one table of the queue: jobs, the oldest first.
//
// A job is a function of its key, so a thread that takes one can verify it.
// Thread-safety: plain values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "experiments/tables/columns.h"
#include "experiments/tables/fixed_text.h"
#include "experiments/tables/key.h"

namespace palimpsest::experiments::queue {

enum class Table : std::uint8_t { job = 1 };

[[nodiscard]] constexpr std::string_view name_of(Table /*table*/) noexcept {
  return "job";
}

inline constexpr std::size_t kPayloadBytes = 100;

struct JobRow {
  FixedText<kPayloadBytes> payload;
  static constexpr auto columns(auto& row) noexcept { return columns_of(full(row.payload)); }
  bool operator==(const JobRow&) const = default;
};

struct JobKey {
  using Row = JobRow;
  static constexpr Table kTable = Table::job;
  std::int64_t put_at_ns = 0;  ///< of loaded jobs: their numbers, before any time
  Number producer = 0;         ///< a terminal, from 1 on; 0: the load
  static constexpr auto columns(auto& key) noexcept {
    return std::tie(key.put_at_ns, key.producer);
  }
  auto operator<=>(const JobKey&) const = default;
};

/// Bytes of key and row.
inline constexpr std::uint64_t kJobBytes = sizeof(std::int64_t) + sizeof(Number) + kPayloadBytes;

[[nodiscard]] JobRow job_of(const JobKey& key) noexcept;

}  // namespace palimpsest::experiments::queue
