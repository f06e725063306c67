// The share of a database's memory for the read sets of all its serializable transactions.
//
// One set gets a quarter at most: a large reader leaves room for the other sets to be exact. A set
// that is refused memory becomes coarser (read_set.h); it is never an error.
// Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace palimpsest::versioning {

class ReadMemory {
 public:
  explicit ReadMemory(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  ReadMemory(const ReadMemory&) = delete;
  ReadMemory& operator=(const ReadMemory&) = delete;

  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// The limit for one set.
  [[nodiscard]] std::uint64_t bytes_max_of_one() const noexcept { return bytes_max_ / kSetsMin; }
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept {
    return bytes_in_use_.load(std::memory_order_relaxed);
  }
  /// Whether so much is in use that a set that has ended keeps nothing for the next transaction.
  [[nodiscard]] bool is_tight() const noexcept { return bytes_in_use() > bytes_max_ / 2; }

  /// Takes `bytes`; false, with nothing taken, if there are not as many left.
  [[nodiscard]] bool try_take(std::uint64_t bytes) noexcept {
    if (bytes_in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_) {
      return true;
    }
    give(bytes);
    return false;
  }
  /// Takes the little that each set is granted, whatever is left.
  void take(std::uint64_t bytes) noexcept {
    bytes_in_use_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void give(std::uint64_t bytes) noexcept {
    bytes_in_use_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kSetsMin = 4;

  const std::uint64_t bytes_max_;
  std::atomic<std::uint64_t> bytes_in_use_{0};
};

}  // namespace palimpsest::versioning
