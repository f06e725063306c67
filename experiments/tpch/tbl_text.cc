#include "experiments/tpch/tbl_text.h"

#include <chrono>

namespace palimpsest::experiments::tpch {
namespace {

/// Characters of a number of 64 bits, with its sign, a point and a bar.
constexpr std::size_t kNumberBytesMax = 24;

char* write_two_digits(char* at, unsigned number) noexcept {
  at[0] = static_cast<char>('0' + number / 10);
  at[1] = static_cast<char>('0' + number % 10);
  return at + 2;
}

}  // namespace

void TblText::text(std::string_view field) {
  char* at = room(field.size() + 1);
  std::memcpy(at, field.data(), field.size());
  end_field(at + field.size());
}

void TblText::letter(Letter field) {
  text({field.data(), field.size()});
}

void TblText::number(std::int64_t field) {
  char* at = room(kNumberBytesMax);
  end_field(std::to_chars(at, at + kNumberBytesMax, field).ptr);
}

void TblText::money(const Decimal& field) {
  const auto cents = static_cast<std::int64_t>(field.unscaled());
  const auto digits = static_cast<std::uint64_t>(cents < 0 ? -cents : cents);
  char* at = room(kNumberBytesMax);
  if (cents < 0) {
    *at++ = '-';
  }
  at = std::to_chars(at, at + kNumberBytesMax, digits / 100).ptr;
  *at++ = '.';
  end_field(write_two_digits(at, static_cast<unsigned>(digits % 100)));
}

void TblText::date(Date field) {
  const std::chrono::year_month_day day(field.days());
  const auto year = static_cast<unsigned>(static_cast<int>(day.year()));
  char* at = room(kNumberBytesMax);
  at = write_two_digits(at, year / 100);
  at = write_two_digits(at, year % 100);
  *at++ = '-';
  at = write_two_digits(at, static_cast<unsigned>(day.month()));
  *at++ = '-';
  end_field(write_two_digits(at, static_cast<unsigned>(day.day())));
}

void TblText::end_line() {
  *room(1) = '\n';
  ++size_;
}

void TblText::add(const RegionRow& row) {
  number(row.key);
  text(row.name);
  text(row.comment);
  end_line();
}

void TblText::add(const NationRow& row) {
  number(row.key);
  text(row.name);
  number(row.region);
  text(row.comment);
  end_line();
}

void TblText::add(const SupplierRow& row) {
  number(row.key);
  text(row.name);
  text(row.address);
  number(row.nation);
  text(row.phone);
  money(row.balance);
  text(row.comment);
  end_line();
}

void TblText::add(const CustomerRow& row) {
  number(row.key);
  text(row.name);
  text(row.address);
  number(row.nation);
  text(row.phone);
  money(row.balance);
  text(row.segment);
  text(row.comment);
  end_line();
}

void TblText::add(const PartRow& row) {
  number(row.key);
  text(row.name);
  text(row.manufacturer);
  text(row.brand);
  text(row.type);
  number(row.size);
  text(row.container);
  money(row.retail_price);
  text(row.comment);
  end_line();
}

void TblText::add(const PartSuppRow& row) {
  number(row.part);
  number(row.supplier);
  number(row.available);
  money(row.cost);
  text(row.comment);
  end_line();
}

void TblText::add(const OrderRow& row) {
  number(row.key);
  number(row.customer);
  letter(row.status);
  money(row.total_price);
  date(row.date);
  text(row.priority);
  text(row.clerk);
  number(row.ship_priority);
  text(row.comment);
  end_line();
}

void TblText::add(const LineItemRow& row) {
  number(row.order);
  number(row.part);
  number(row.supplier);
  number(row.line);
  number(static_cast<std::int64_t>(row.quantity.unscaled()) / 100);  // whole, and written so
  money(row.extended_price);
  money(row.discount);
  money(row.tax);
  letter(row.return_flag);
  letter(row.line_status);
  date(row.ship_date);
  date(row.commit_date);
  date(row.receipt_date);
  text(row.instructions);
  text(row.mode);
  text(row.comment);
  end_line();
}

}  // namespace palimpsest::experiments::tpch
