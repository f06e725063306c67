#include "experiments/files/stored_line.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "experiments/common/record_key.h"

namespace palimpsest::experiments::files {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers of values are copied");

// Columns of lineitem, by their numbers.
constexpr std::size_t kOrderKey = 0;
constexpr std::size_t kLineNumber = 3;
constexpr std::size_t kPrice = 5;
constexpr std::size_t kComment = 15;
constexpr unsigned kCentDigits = 2;

std::int64_t cents_of(const Value& value) {
  return static_cast<std::int64_t>(value.as_decimal().with_scale(kCentDigits)->unscaled());
}

template <class Number>
void append(Number number, std::string& into) {
  const std::size_t end = into.size();
  into.resize(end + sizeof number);
  std::memcpy(into.data() + end, &number, sizeof number);
}

void append_column(const Value& value, std::string& into) {
  switch (value.kind()) {
    case ValueKind::integer: append(static_cast<std::int32_t>(value.as_integer()), into); return;
    case ValueKind::decimal: append(cents_of(value), into); return;
    case ValueKind::date: append(value.as_date().days_since_1970(), into); return;
    case ValueKind::bytes:
      append(static_cast<std::uint8_t>(value.as_bytes().size()), into);
      into += value.as_bytes();
      return;
    default: check(false, "a column of lineitem has another type");
  }
}

/// Reads the fields of a value from its beginning.
class LineReader {
 public:
  explicit LineReader(ByteView bytes) noexcept : rest_(bytes) {}

  void skip(std::size_t bytes) { static_cast<void>(take(bytes)); }
  template <class Number>
  [[nodiscard]] Number number() {
    Number number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  [[nodiscard]] ByteView text() { return take(number<std::uint8_t>()); }
  void end() const { ensure(rest_.empty()); }

 private:
  static void ensure(bool holds) {
    if (!holds) {
      throw DamagedRecord("a value is not a line of lineitem");
    }
  }
  [[nodiscard]] ByteView take(std::size_t bytes) {
    ensure(rest_.size() >= bytes);
    const ByteView taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  ByteView rest_;
};

}  // namespace

void StoredLine::set(std::span<const Value> row) {
  key_.clear();
  append(__builtin_bswap64(static_cast<std::uint64_t>(row[kOrderKey].as_integer())), key_);
  append(__builtin_bswap32(static_cast<std::uint32_t>(row[kLineNumber].as_integer())), key_);
  value_.clear();
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (column != kOrderKey && column != kLineNumber) {
      append_column(row[column], value_);
    }
  }
}

void see(Content& content, ByteView key, ByteView value) {
  LineReader in_key(key);
  content.order_keys += __builtin_bswap64(in_key.number<std::uint64_t>());
  in_key.skip(sizeof(std::uint32_t));
  in_key.end();
  LineReader in_value(value);
  in_value.skip(2 * sizeof(std::int32_t));  // part, supplier
  in_value.skip(sizeof(std::int64_t));      // quantity
  content.price_cents += in_value.number<std::uint64_t>();
  in_value.skip(2 * sizeof(std::int64_t));  // discount, tax
  static_cast<void>(in_value.text());       // flag
  static_cast<void>(in_value.text());       // status
  in_value.skip(3 * sizeof(std::int32_t));  // dates
  static_cast<void>(in_value.text());       // instructions
  static_cast<void>(in_value.text());       // mode
  content.comment_bytes += in_value.text().size();
  in_value.end();
  ++content.rows;
}

void see(Content& content, std::span<const Value> row) {
  content.order_keys += static_cast<std::uint64_t>(row[kOrderKey].as_integer());
  content.price_cents += static_cast<std::uint64_t>(cents_of(row[kPrice]));
  content.comment_bytes += row[kComment].as_bytes().size();
  ++content.rows;
}

}  // namespace palimpsest::experiments::files
