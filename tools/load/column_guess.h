// What type a column's values have in common.
//
// A type is chosen only if it keeps what the texts say (value_rules.h): integers of more than 38
// digits, or decimals that a double would round, are text.
// Thread-safety: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "palimpsest/schema.h"

#include "tools/load/text_arena.h"
#include "tools/load/value_rules.h"

namespace palimpsest::load {

class ColumnGuess {
 public:
  /// `rules` outlive it.
  ColumnGuess(std::string name, const ValueRules& rules) : name_(std::move(name)), rules_(&rules) {}

  void see_null() noexcept { has_null_ = true; }
  /// `is_number`: it may be one; a string of JSON is none.
  void see(std::string_view text, bool is_number = true);
  /// A value of JSON that a column holds as text only: an object or an array.
  void see_nested() noexcept {
    ++seen_;
    has_nested_ = true;
    forget_values();
  }
  /// Whether it is the text of some value so far; of one that is watched since the beginning.
  void watch(std::string text) { watched_ = std::move(text); }
  [[nodiscard]] bool has_watched() const noexcept { return has_watched_; }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  void rename(std::string name) { name_ = std::move(name); }
  /// Whether all values so far are there, and are different, and keys are no longer than tables
  /// take.
  [[nodiscard]] bool may_be_key() const noexcept;
  [[nodiscard]] bool has_null() const noexcept { return has_null_; }
  [[nodiscard]] bool has_twins() const noexcept { return has_twins_; }
  [[nodiscard]] bool has_nested() const noexcept { return has_nested_; }
  /// Whether JSON has strings here, and other values.
  [[nodiscard]] bool is_mixed() const noexcept { return has_text_ && has_bare_; }
  [[nodiscard]] std::size_t seen() const noexcept { return seen_; }
  [[nodiscard]] DataType type() const;
  /// Whether the type that was chosen is not text.
  [[nodiscard]] bool is_typed() const { return seen_ != 0 && type().type != ColumnType::varchar; }
  /// Whether a text is a value of the type that was chosen.
  [[nodiscard]] bool fits(std::string_view text) const;
  /// Gives the memory for values back: the column will be no key.
  void forget_values() noexcept;
  /// About how many bytes these take.
  [[nodiscard]] std::size_t value_bytes() const noexcept { return values_.size() * kValueBytes; }

 private:
  /// Of a hash in a set, with what the set takes for it.
  static constexpr std::size_t kValueBytes = 40;

  void note_value(std::string_view text);
  void judge_number(std::string_view text);
  [[nodiscard]] bool is(const DataType& type, std::string_view text) const;

  std::string name_;
  const ValueRules* rules_;
  std::string watched_{};
  std::unordered_set<std::uint64_t> values_{};  ///< hashes: two of one value are twins for sure
  std::size_t seen_ = 0;
  std::size_t bytes_max_ = 0;
  bool has_watched_ = false;
  bool has_null_ = false;
  bool has_twins_ = false;  ///< or may have
  bool has_nested_ = false;
  bool has_text_ = false;  ///< strings of JSON
  bool has_bare_ = false;  ///< and what is none
  bool has_exponent_ = false;
  bool has_digits_ = false;  ///< a number that is none of the words for those that are not finite
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
