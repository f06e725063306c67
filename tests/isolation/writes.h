// All writes of transactions, found by key and value.
//
// A value is written to a key once. Thread-safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/isolation/history.h"

namespace palimpsest::isolation {

struct Write {
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  std::int64_t value = 0;
  KeyNumber key = 0;
  TransactionNumber by = 0;
  bool is_last = false;               ///< of this transaction's writes of the key
  std::uint32_t position = kNowhere;  ///< in the key's order of versions, of lists
};

class Writes {
 public:
  explicit Writes(const History& history);

  [[nodiscard]] Write* find(KeyNumber key, std::int64_t value);
  [[nodiscard]] const std::vector<Write>& all() const noexcept { return writes_; }

 private:
  std::vector<Write> writes_;          ///< by key and value
  std::vector<std::uint64_t> starts_;  ///< of each key
};

}  // namespace palimpsest::isolation
