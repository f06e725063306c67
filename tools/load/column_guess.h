// What type a column's values have in common.
//
// Thread-safety: a plain value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "palimpsest/schema.h"

#include "tools/load/text_arena.h"

namespace palimpsest::load {

class ColumnGuess {
 public:
  explicit ColumnGuess(std::string name) : name_(std::move(name)) {}

  void see_null() noexcept { has_null_ = true; }
  /// `is_number`: it may be one; a string of JSON is none.
  void see(std::string_view text, bool is_number = true);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether all values so far are there, and are different.
  [[nodiscard]] bool may_be_key() const noexcept { return !has_null_ && !has_twins_ && seen_ != 0; }
  [[nodiscard]] std::size_t seen() const noexcept { return seen_; }
  [[nodiscard]] DataType type() const;

 private:
  void judge_number(std::string_view text);
  void judge_decimal(std::string_view text);
  [[nodiscard]] bool is(const DataType& type, std::string_view text) const;

  std::string name_;
  std::unordered_set<std::string> values_{};
  std::size_t seen_ = 0;
  bool has_null_ = false;
  bool has_twins_ = false;
  bool may_be_boolean_ = true;
  bool may_be_integer_ = true;
  bool may_be_decimal_ = true;
  bool may_be_floating_ = true;
  bool may_be_date_ = true;
  bool may_be_timestamp_ = true;
  std::size_t digits_before_ = 0;  ///< the point, at most
  std::size_t digits_behind_ = 0;
};

}  // namespace palimpsest::load
