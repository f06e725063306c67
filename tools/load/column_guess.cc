#include "tools/load/column_guess.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "tools/load/fault.h"

namespace palimpsest::load {
namespace {

/// Decimals of so many digits take 8 bytes.
constexpr std::uint32_t kShortDecimalDigits = 18;
/// More digits behind the point than people write are a measurement's.
constexpr std::size_t kPlainScaleMax = 8;
/// A key of texts that are longer is none that people would name rows by, and may be too long.
constexpr std::size_t kKeyTextBytesMax = 255;

/// How many digits a number needs, with the exponent taken into account.
struct NumberShape {
  std::size_t before = 0;  ///< the point, without zeros in front
  std::size_t behind = 0;  ///< as many as are written
  bool has_exponent = false;
  bool is_integer = false;
};

std::size_t take_digits(std::string_view& text) noexcept {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits;
}

/// Nothing of what is no number in digits.
std::optional<NumberShape> shape_of(std::string_view text) noexcept {
  NumberShape shape;
  text.remove_prefix(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  const bool is_zero_first = text.starts_with('0');
  const std::size_t before = take_digits(text);
  shape.before = is_zero_first && before == 1 ? 0 : before;
  shape.is_integer = text.empty() && before != 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    shape.behind = take_digits(text);
    if (shape.behind == 0) {
      return std::nullopt;
    }
  }
  if (before + shape.behind == 0) {
    return std::nullopt;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    constexpr int kExponentMax = 400;
    int exponent = 0;
    text.remove_prefix(text.substr(1).starts_with('+') ? 2 : 1);
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc() || rest != text.data() + text.size()) {
      return std::nullopt;
    }
    exponent = std::clamp(exponent, -kExponentMax, kExponentMax);
    const auto moved = static_cast<std::size_t>(std::abs(exponent));
    shape.has_exponent = true;
    (exponent < 0 ? shape.behind : shape.before) += moved;
    return shape;
  }
  return text.empty() ? std::optional(shape) : std::nullopt;
}

}  // namespace

bool ColumnGuess::is(const DataType& type, std::string_view text) const {
  TextArena arena;
  Value value;
  return !parse_by(*rules_, type, text, BytesText::hex, arena, value);
}

void ColumnGuess::see(std::string_view text, bool is_number) {
  ++seen_;
  note_value(text);
  const bool is_word = text.size() > 1 && text.find_first_of("tTfF") == 0;
  may_be_boolean_ = may_be_boolean_ && is_word && is(types::boolean(), text);
  may_be_date_ = may_be_date_ && is(types::date(), text);
  may_be_timestamp_ = may_be_timestamp_ && is(types::timestamp(), text);
  if (is_number) {
    has_bare_ = true;
    judge_number(text);
  } else {
    has_text_ = true;
    may_be_integer_ = may_be_decimal_ = may_be_floating_ = may_be_boolean_ = false;
  }
}

void ColumnGuess::note_value(std::string_view text) {
  bytes_max_ = std::max(bytes_max_, text.size());
  has_watched_ = has_watched_ || (!watched_.empty() && text == watched_);
  if (has_twins_) {
    return;
  }
  if (!values_.insert(std::hash<std::string_view>()(text)).second ||
      bytes_max_ > kKeyTextBytesMax) {
    forget_values();
  }
}

void ColumnGuess::forget_values() noexcept {
  has_twins_ = true;
  std::unordered_set<std::uint64_t>().swap(values_);
}

bool ColumnGuess::may_be_key() const noexcept {
  return !has_null_ && !has_twins_ && !has_nested_ && seen_ != 0;
}

void ColumnGuess::judge_number(std::string_view text) {
  if (!may_be_integer_ && !may_be_decimal_ && !may_be_floating_) {
    return;
  }
  const std::optional<std::string> plain = plain_number_text(*rules_, text);
  const std::optional<NumberShape> shape = plain ? shape_of(*plain) : std::nullopt;
  if (!shape) {
    may_be_integer_ = may_be_decimal_ = false;
    may_be_floating_ = may_be_floating_ && is(types::float64(), text);
    return;
  }
  const bool is_exact = is_written_plainly(*plain);
  constexpr std::size_t kSafeDigits = 18;
  has_digits_ = true;
  has_exponent_ = has_exponent_ || shape->has_exponent;
  digits_before_ = std::max(digits_before_, shape->before);
  digits_behind_ = std::max(digits_behind_, shape->behind);
  may_be_integer_ = may_be_integer_ && is_exact && shape->is_integer &&
                    (shape->before <= kSafeDigits || is(types::int64(), text));
  may_be_decimal_ = may_be_decimal_ && is_exact;
  may_be_floating_ = may_be_floating_ && is(types::float64(), text);
}

bool ColumnGuess::fits(std::string_view text) const {
  return is(type(), text);
}

DataType ColumnGuess::type() const {
  DataType type = types::varchar(kVarcharBytesMax);
  if (seen_ == 0) {
    return types::nullable(type);
  }
  const std::size_t digits = digits_before_ + digits_behind_;
  const bool fits_decimal = may_be_decimal_ && digits <= kDecimalDigitsMax;
  const auto decimal = types::decimal(
      digits < kShortDecimalDigits ? kShortDecimalDigits : kDecimalDigitsMax,
      static_cast<std::uint32_t>(std::min<std::size_t>(digits_behind_, kDecimalDigitsMax)));
  const bool is_plain_decimal = fits_decimal && !has_exponent_ && digits_behind_ <= kPlainScaleMax;
  const bool is_floating = may_be_floating_ && has_digits_;
  if (has_nested_) {
    return has_null_ ? types::nullable(type) : type;
  }
  if (may_be_boolean_) {
    type = types::boolean();
  } else if (may_be_integer_) {
    type = types::int64();
  } else if (is_floating && !is_plain_decimal) {
    type = types::float64();
  } else if (fits_decimal) {
    type = decimal;
  } else if (may_be_date_) {
    type = types::date();
  } else if (may_be_timestamp_) {
    type = types::timestamp();
  }
  type.nullable = has_null_;
  return type;
}

}  // namespace palimpsest::load
