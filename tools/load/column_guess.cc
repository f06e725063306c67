#include "tools/load/column_guess.h"

#include <algorithm>
#include <cstdint>

#include "tools/load/value_text.h"

namespace palimpsest::load {
namespace {

/// Decimals of so many digits take 8 bytes.
constexpr std::uint32_t kShortDecimalDigits = 18;
/// More digits behind the point than people write are a measurement's.
constexpr std::size_t kDecimalScaleMax = 8;

}  // namespace

bool ColumnGuess::is(const DataType& type, std::string_view text) const {
  TextArena arena;
  Value value;
  return !parse_value(type, text, BytesText::hex, arena, value);
}

void ColumnGuess::see(std::string_view text, bool is_number) {
  ++seen_;
  has_twins_ = has_twins_ || !values_.emplace(text).second;
  if (has_twins_) {
    values_.clear();
  }
  const bool is_word = text.size() > 1 && text.find_first_of("tTfF") == 0;
  may_be_boolean_ = may_be_boolean_ && is_word && text.size() >= 4 && is(types::boolean(), text);
  may_be_date_ = may_be_date_ && is(types::date(), text);
  may_be_timestamp_ = may_be_timestamp_ && is(types::timestamp(), text);
  if (is_number) {
    judge_number(text);
  } else {
    may_be_integer_ = may_be_decimal_ = may_be_floating_ = false;
  }
}

void ColumnGuess::judge_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_code =
      text.starts_with('+') || (digits.size() > 1 && digits[0] == '0' && digits[1] != '.');
  if (is_code) {  // as the number it would lose something
    may_be_integer_ = may_be_decimal_ = may_be_floating_ = false;
    return;
  }
  may_be_integer_ = may_be_integer_ && is(types::int64(), text);
  may_be_floating_ = may_be_floating_ && is(types::float64(), text);
  judge_decimal(digits);
}

void ColumnGuess::judge_decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view behind = text.substr(std::min(point + 1, text.size()));
  const bool is_plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
  digits_before_ = std::max(digits_before_, point);
  digits_behind_ = std::max(digits_behind_, behind.size());
  may_be_decimal_ = may_be_decimal_ && is_plain && digits_behind_ <= kDecimalScaleMax &&
                    digits_before_ + digits_behind_ <= kDecimalDigitsMax &&
                    is(types::decimal(kDecimalDigitsMax, kDecimalScaleMax), text);
}

DataType ColumnGuess::type() const {
  DataType type = types::varchar(kVarcharBytesMax);
  if (seen_ == 0) {
    return types::nullable(type);
  }
  if (may_be_boolean_) {
    type = types::boolean();
  } else if (may_be_integer_) {
    type = types::int64();
  } else if (may_be_decimal_) {
    const bool is_short = digits_before_ + digits_behind_ < kShortDecimalDigits;
    type = types::decimal(is_short ? kShortDecimalDigits : kDecimalDigitsMax,
                          static_cast<std::uint32_t>(digits_behind_));
  } else if (may_be_floating_) {
    type = types::float64();
  } else if (may_be_date_) {
    type = types::date();
  } else if (may_be_timestamp_) {
    type = types::timestamp();
  }
  type.nullable = has_null_;
  return type;
}

}  // namespace palimpsest::load
