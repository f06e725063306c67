// A range of keys as people write it: 10..20, 10.., ..20, of several columns "7,a..7,b".
//
// Both ends belong to it. A value is written as in csv: one with a comma or two points in it stands
// in double quotes. The first columns of a key stand for all keys that begin with them.
// Failure: UsageError, which names the value and the column. Thread-safety: plain values.
#pragma once

#include <string_view>
#include <vector>

#include "palimpsest/key.h"
#include "palimpsest/schema.h"

#include "tools/load/text_arena.h"

namespace palimpsest::load {

class KeyRange {
 public:
  KeyRange(const KeyRange&) = delete;
  KeyRange& operator=(const KeyRange&) = delete;
  /// Of keys of that table.
  KeyRange(const TableSchema& table, std::string_view text);

  [[nodiscard]] const Range& range() const noexcept { return range_; }

 private:
  [[nodiscard]] std::vector<Value> values_of(const TableSchema& table, std::string_view text);

  // Ranges look at values, and values at texts.
  TextArena arena_{};
  std::vector<Value> lower_;
  std::vector<Value> upper_;
  Range range_;
};

}  // namespace palimpsest::load
