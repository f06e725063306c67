#include "experiments/tpcc/transactions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace palimpsest::experiments::tpcc {

Cents order_total(Cents amounts, Rate discount, Rate warehouse_tax, Rate district_tax) noexcept {
  constexpr Cents kWhole = 10'000;
  const Cents scaled = amounts * (kWhole - discount) * (kWhole + warehouse_tax + district_tax);
  return (scaled + kWhole * kWhole / 2) / (kWhole * kWhole);
}

void apply_payment(CustomerRow& row, const CustomerKey& customer,
                   const PaymentInput& input) noexcept {
  row.balance -= input.amount;
  row.ytd_payment += input.amount;
  ++row.payment_count;
  if (row.credit.view() != "BC") {
    return;
  }
  std::array<char, decltype(row.data)::kMaxBytes> data;
  const auto note =
      fmt::format_to_n(data.data(), data.size(), "{} {} {} {} {} {}.{:02} ", customer.customer,
                       customer.district, customer.warehouse, input.district.district,
                       input.district.warehouse, input.amount / 100, input.amount % 100);
  const std::size_t note_bytes = std::min(note.size, data.size());
  const std::size_t kept = row.data.view().copy(data.data() + note_bytes, data.size() - note_bytes);
  row.data.assign({data.data(), note_bytes + kept});
}

HistoryRow history_of(const PaymentInput& input, const PaymentOutput& output) noexcept {
  constexpr std::string_view kBetweenNames = "    ";
  std::array<char, 24> data;
  std::size_t size = output.warehouse_name.view().copy(data.data(), 10);
  size += kBetweenNames.copy(data.data() + size, kBetweenNames.size());
  size += output.district_name.view().copy(data.data() + size, 10);
  return {.amount = input.amount,
          .date = input.date,
          .customer_warehouse = output.customer.warehouse,
          .customer_district = output.customer.district,
          .customer = output.customer.customer,
          .warehouse = input.district.warehouse,
          .district = input.district.district,
          .data = FixedText<24>({data.data(), size})};
}

}  // namespace palimpsest::experiments::tpcc
