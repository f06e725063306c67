#include "tests/engine/format/random_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace palimpsest::test {
namespace {

/// `count` of the names, in any order.
std::vector<std::string> some_of(Random& random, std::vector<std::string> names,
                                 std::size_t count) {
  for (std::size_t at = names.size(); at > 1; --at) {
    std::swap(names[at - 1], names[random.below(at)]);
  }
  names.resize(std::min(count, names.size()));
  return names;
}

DataType random_type(Random& random) {
  const auto type = static_cast<ColumnType>(random.between(1, 13));
  switch (type) {
    case ColumnType::decimal: {
      const auto precision = static_cast<std::uint32_t>(random.between(1, kDecimalDigitsMax));
      return types::decimal(precision, static_cast<std::uint32_t>(random.below(precision + 1)));
    }
    case ColumnType::character:
      return types::character(static_cast<std::uint32_t>(random.between(1, 20)));
    case ColumnType::varchar:
    case ColumnType::bytes:
      return {.type = type,
              .length = static_cast<std::uint32_t>(random.one_in(6) ? random.between(1, 100'000)
                                                                    : random.between(1, 30))};
    case ColumnType::boolean:
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64:
    case ColumnType::float32:
    case ColumnType::float64:
    case ColumnType::date:
    case ColumnType::timestamp: break;
  }
  return {.type = type};
}

/// An integer of so many bits.
std::int64_t random_integer(Random& random, unsigned bits) {
  const std::int64_t max = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  switch (random.below(4)) {
    case 0: return static_cast<std::int64_t>(random.below(5)) - 2;
    case 1: return random.one_in(2) ? max : -max - 1;
    default: return static_cast<std::int64_t>(random()) >> (64 - bits);
  }
}

double random_floating(Random& random, bool single) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array kSpecial{0.0,  -0.0,  1.0,  -1.0, kInfinity, -kInfinity,
                                kNaN, -kNaN, 1e30, 0.5,  1e-40,     -1e-40};
  const double number =
      random.one_in(2) ? kSpecial[random.below(kSpecial.size())] : (random.unit() - 0.5) * 1000;
  return single ? static_cast<double>(static_cast<float>(number)) : number;
}

Decimal random_decimal(Random& random, const DataType& type) {
  Int128 unscaled = 0;
  const std::uint64_t digits = random.below(type.precision + 1);
  const bool nines = random.one_in(4);
  for (std::uint64_t digit = 0; digit < digits; ++digit) {
    unscaled = unscaled * 10 + (nines ? 9 : static_cast<int>(random.below(10)));
  }
  return Decimal::of(random.one_in(2) ? unscaled : -unscaled, type.scale);
}

std::string random_text(Random& random, const DataType& type) {
  constexpr std::string_view kLetters("\0\1\xFE\xFF ab", 7);
  const std::size_t most = random.one_in(50) ? type.length : std::min(type.length, 6U);
  std::string text(random.below(most + 1), '\0');
  std::ranges::generate(text, [&] { return kLetters[random.below(kLetters.size())]; });
  return text;
}

std::weak_ordering order_of_floating(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) <=> std::isnan(b);
  }
  return a < b ? std::weak_ordering::less
               : (a > b ? std::weak_ordering::greater : std::weak_ordering::equivalent);
}

std::string padded(const DataType& type, std::string_view text) {
  std::string padded(text);
  padded.resize(std::max<std::size_t>(text.size(), type.length), ' ');
  return padded;
}

}  // namespace

TableSchema random_schema(Random& random) {
  TableSchema table{.name = "random"};
  const std::uint64_t count = random.between(1, 9);
  std::vector<std::string> names;
  for (std::uint64_t number = 0; number < count; ++number) {
    names.push_back(fmt::format("c{}", number));
    table.columns.push_back({names.back(), random_type(random)});
  }
  table.key = some_of(random, names, random.between(1, std::min<std::uint64_t>(count, 4)));
  for (ColumnDefinition& column : table.columns) {
    const bool in_key = std::ranges::find(table.key, column.name) != table.key.end();
    column.type.nullable = !in_key && random.one_in(2);
  }
  return table;
}

IndexSchema random_index(Random& random, const TableSchema& table) {
  std::vector<std::string> names;
  names.reserve(table.columns.size());
  for (const ColumnDefinition& column : table.columns) {
    names.push_back(column.name);
  }
  return {.name = "index",
          .columns = some_of(random, names, random.between(1, 3)),
          .unique = random.one_in(2)};
}

Value random_value(Random& random, const DataType& type, std::deque<std::string>& texts) {
  if (type.nullable && random.one_in(3)) {
    return {};
  }
  switch (type.type) {
    case ColumnType::boolean: return random.one_in(2);
    case ColumnType::int8: return random_integer(random, 8);
    case ColumnType::int16: return random_integer(random, 16);
    case ColumnType::int32: return random_integer(random, 32);
    case ColumnType::int64: return random_integer(random, 64);
    case ColumnType::float32: return random_floating(random, true);
    case ColumnType::float64: return random_floating(random, false);
    case ColumnType::decimal: return random_decimal(random, type);
    case ColumnType::date: return Date(static_cast<std::int32_t>(random_integer(random, 32)));
    case ColumnType::timestamp: return Timestamp(random_integer(random, 64));
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return texts.emplace_back(random_text(random, type));
}

RandomRow random_row(Random& random, const TableSchema& table) {
  RandomRow row;
  for (const ColumnDefinition& column : table.columns) {
    row.values.push_back(random_value(random, column.type, row.texts));
  }
  return row;
}

std::vector<Value> values_of(const TableSchema& table, std::span<const std::string> names,
                             std::span<const Value> values) {
  std::vector<Value> taken;
  for (const std::string& name : names) {
    taken.push_back(values[table.find_column(name).value()]);
  }
  return taken;
}

std::weak_ordering order_of(const DataType& type, const Value& a, const Value& b) {
  if (a.is_null() || b.is_null()) {
    return b.is_null() <=> a.is_null();
  }
  switch (a.kind()) {
    case ValueKind::boolean: return a.as_boolean() <=> b.as_boolean();
    case ValueKind::integer: return a.as_integer() <=> b.as_integer();
    case ValueKind::floating: return order_of_floating(a.as_floating(), b.as_floating());
    case ValueKind::decimal: return a.as_decimal() <=> b.as_decimal();
    case ValueKind::date: return a.as_date() <=> b.as_date();
    case ValueKind::timestamp: return a.as_timestamp() <=> b.as_timestamp();
    case ValueKind::bytes:
    case ValueKind::null: break;
  }
  if (type.type == ColumnType::character) {
    return padded(type, a.as_bytes()) <=> padded(type, b.as_bytes());
  }
  return a.as_bytes() <=> b.as_bytes();
}

std::weak_ordering order_of(const TableSchema& table, std::span<const std::string> names,
                            std::span<const Value> a, std::span<const Value> b) {
  for (const std::string& name : names) {
    const std::size_t column = table.find_column(name).value();
    const auto order = order_of(table.columns[column].type, a[column], b[column]);
    if (order != 0) {
      return order;
    }
  }
  return std::weak_ordering::equivalent;
}

}  // namespace palimpsest::test
