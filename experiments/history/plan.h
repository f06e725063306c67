// Plans of transactions, drawn at random: keys, access paths, and how each transaction ends.
//
// Few keys are in use at a time. A key that has been written often enough is replaced by a new one
// and rests, so that lists stay short and the table grows; some reads pass resting keys.
// Thread-safety: ActiveKeys: all functions; a Planner belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "experiments/history/event.h"

namespace palimpsest::experiments::history {

enum class Mode : std::uint8_t {
  list_append = 1,
  registers,
};

/// Neighbours in the table differ by this: keys that are in use together lie apart.
inline constexpr std::int64_t kBuckets = 61;
/// Neighbours in the index are as many keys.
inline constexpr std::int64_t kGroup = 4;

enum class StepKind : std::uint8_t {
  get = 1,  ///< one key
  many,     ///< several by Table::read_many()
  visit,    ///< neighbours in the table, where they lie
  cursor,   ///< the same by a cursor
  backward_cursor,
  index,          ///< a group by the index
  write,          ///< appends, or writes
  rewrite_whole,  ///< appends; then erases the row and inserts it again
};

[[nodiscard]] constexpr bool is_write(StepKind kind) noexcept {
  return kind == StepKind::write || kind == StepKind::rewrite_whole;
}

struct Step {
  StepKind kind = StepKind::get;
  std::vector<std::int64_t> keys{};  ///< ascending
  std::int64_t value = 0;            ///< that is written
  std::uint32_t pause_us = 0;        ///< before the step; 1: only yields
};

struct Plan {
  bool read_only = false;
  bool rolls_back = false;
  /// A bulk transaction; its first step writes, so that its reads are of one state at any level.
  bool is_bulk = false;
  bool is_bulk_at_level = false;  ///< of the workload; else at the one that bulks have
  std::vector<Step> steps{};
};

/// The plan's operations, as an event lists them.
[[nodiscard]] std::vector<Operation> operations_of(const Plan& plan, Mode mode);

/// Keys in use, and numbers for written values.
class ActiveKeys {
 public:
  /// `count` keys at a time: those below `next_key` first, if there are any.
  ActiveKeys(std::uint64_t count, std::int64_t next_key, std::int64_t next_value,
             std::uint32_t writes_max);

  [[nodiscard]] std::int64_t to_read(Random& random) const noexcept;
  [[nodiscard]] std::int64_t to_write(Random& random) noexcept;
  [[nodiscard]] std::int64_t new_value() noexcept { return next_value_.fetch_add(1); }
  /// Above all keys so far.
  [[nodiscard]] std::int64_t next_key() const noexcept { return next_key_.load(); }

 private:
  struct Slot {
    std::atomic<std::int64_t> key{0};
    std::atomic<std::uint32_t> writes{0};
  };

  [[nodiscard]] std::size_t draw(Random& random) const noexcept;

  std::vector<Slot> slots_;
  std::uint32_t writes_max_;
  std::atomic<std::int64_t> next_key_;
  std::atomic<std::int64_t> next_value_;
};

class Planner {
 public:
  Planner(ActiveKeys& keys, std::uint64_t seed, std::uint32_t bulk_percent)
      : keys_(keys), random_(seed), bulk_percent_(bulk_percent) {}

  [[nodiscard]] Plan next();

 private:
  [[nodiscard]] Plan bulk();
  [[nodiscard]] Step step(bool writes);
  [[nodiscard]] std::uint32_t pause();

  ActiveKeys& keys_;
  Random random_;
  std::uint32_t bulk_percent_;
};

}  // namespace palimpsest::experiments::history
