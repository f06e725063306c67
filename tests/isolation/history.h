// A history as the checker uses it: transactions with their reads and writes, in little memory.
//
// Made of events in their order, which is that of their indices. The accesses of a committed
// transaction are those of its end, otherwise those it began with. Transactions and keys are
// numbered in the order of their beginning. Thread-safety: none. Failure: std::runtime_error for
// events that make no history, and files that cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/history/event.h"

namespace palimpsest::isolation {

using TransactionNumber = std::uint32_t;
using KeyNumber = std::uint32_t;

enum class CommitStatus : std::uint8_t {
  committed = 1,
  aborted,
  unknown,
};

/// An operation; a read without a known result is omitted.
struct Access {
  bool is_read = false;
  KeyNumber key = 0;
  std::uint32_t count = 0;  ///< of values
  std::uint64_t first = 0;
};

struct TransactionRecord {
  CommitStatus commit_status = CommitStatus::unknown;
  std::uint32_t accesses = 0;
  std::uint64_t first_access = 0;
  std::uint64_t begun = 0;  ///< indices of events
  std::uint64_t ended = ~std::uint64_t{0};
  std::int64_t process = 0;
};

class History {
 public:
  void add(const experiments::history::Event& event);
  /// A transaction that has not ended gets an unknown commit status.
  void finish();

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(transactions_.size());
  }
  [[nodiscard]] const TransactionRecord& at(TransactionNumber transaction) const {
    return transactions_[transaction];
  }
  [[nodiscard]] std::span<const Access> accesses(TransactionNumber transaction) const {
    const TransactionRecord& record = transactions_[transaction];
    return std::span(accesses_).subspan(record.first_access, record.accesses);
  }
  [[nodiscard]] std::span<const std::int64_t> values(const Access& access) const {
    return std::span(values_).subspan(access.first, access.count);
  }
  [[nodiscard]] std::uint32_t keys() const noexcept {
    return static_cast<std::uint32_t>(keys_.size());
  }
  /// The key's name in the file.
  [[nodiscard]] std::int64_t key(KeyNumber key) const { return keys_[key]; }
  [[nodiscard]] bool has_registers() const noexcept { return has_registers_; }
  [[nodiscard]] bool has_committed() const noexcept { return has_committed_; }

  /// Readable: T17 (process 3, events 5 to 9, ok): [["r",5,[1,2]]].
  [[nodiscard]] std::string text(TransactionNumber transaction) const;

 private:
  struct Open {
    TransactionNumber transaction = 0;
    std::vector<experiments::history::Operation> operations{};
  };

  void check_order(const experiments::history::Event& event);
  void end(const Open& open, CommitStatus commit_status,
           const std::vector<experiments::history::Operation>& operations);
  [[nodiscard]] KeyNumber number_of(std::int64_t key);

  std::vector<TransactionRecord> transactions_;
  std::vector<Access> accesses_;
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> keys_;
  std::unordered_map<std::int64_t, KeyNumber> key_numbers_;
  std::unordered_map<std::int64_t, Open> open_;
  std::optional<std::uint64_t> last_index_;
  bool has_registers_ = false;
  bool has_lists_ = false;
  bool has_committed_ = false;
};

/// Reads lines of JSON; its errors name the file, and the line if one is wrong. Some transaction
/// must have committed.
[[nodiscard]] History load_history(const std::string& file);

}  // namespace palimpsest::isolation
