// The table that histories are made on: a row for each key, with the list or the register in it.
//
// Its primary key scatters keys that are in use together over the pages; an index orders groups of
// keys by a rank, which changes with each write, so that index entries move all the time. The rest
// of a row follows from the value written last, so that mixed-up rows are noticed.
// Thread-safety: all functions. Failure: as palimpsest/table.h; WrongRow.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/table_of.h"

#include "experiments/history/event.h"
#include "experiments/history/plan.h"

namespace palimpsest::experiments::history {

/// A row with contents that were never written, or that was found twice.
class WrongRow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Item {
  std::int32_t bucket = 0;
  std::int64_t key = 0;
  std::int64_t group = 0;
  std::int32_t rank = 0;
  std::string values{};   ///< eight bytes each
  std::string padding{};  ///< from nothing to more than a page
};

class Items {
 public:
  /// Creates the table if it is missing.
  Items(Database& database, Mode mode);

  /// Done, or the obstacle.
  [[nodiscard]] Outcome write(Transaction& transaction, const Step& step) const;
  /// The result, for each key of the step in order.
  void read(const Transaction& transaction, const Step& step,
            std::vector<Operation>& operations) const;

 private:
  class Found;

  [[nodiscard]] Outcome insert_or_change(Transaction& transaction, std::int64_t key,
                                         std::int64_t value) const;
  [[nodiscard]] Outcome reinsert(Transaction& transaction, std::int64_t key) const;
  void change(Item& item, std::int64_t value) const;

  Mode mode_;
  TableOf<Item> table_;
  Index by_rank_;
};

}  // namespace palimpsest::experiments::history
