// The New-Order transaction (clause 2.4.2): a customer orders 5 to 15 items.
//
// One in a hundred names an item that does not exist, and rolls back when all its other lines are
// entered (clause 2.4.2.3).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/random.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

/// What the terminal shows (clause 2.4.3).
struct NewOrderOutput {
  struct Line {
    FixedText<24> item_name;
    Number stock = 0;
    char brand = 'G';  ///< 'B' if both item and stock are original
    Cents price = 0;
    Cents amount = 0;
  };
  Number order = 0;
  Rate warehouse_tax = 0;
  Rate district_tax = 0;
  Rate discount = 0;
  FixedText<16> last;
  FixedText<2> credit;
  std::array<Line, kOrderLinesMax> lines;
  Cents total = 0;
};

/// What an order costs, with the customer's discount and both taxes; half a cent is rounded up.
[[nodiscard]] Cents order_total(Cents amounts, Rate discount, Rate warehouse_tax,
                                Rate district_tax) noexcept;

/// What S_QUANTITY is after `ordered` pieces have gone: what falls below 10 is filled up by 91.
[[nodiscard]] constexpr Number stock_after(Number stock, Number ordered) noexcept {
  return stock >= ordered + 10 ? stock - ordered : stock - ordered + 91;
}

namespace detail {

template <Session S>
[[nodiscard]] bool enter_order(TransactionScope<S>& scope, const NewOrderInput& input,
                               NewOrderOutput& output) {
  const auto& [warehouse, district, customer] = input.customer;
  Number all_local = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(input.line_count); ++i) {
    all_local &= input.lines[i].supply_warehouse == warehouse ? 1 : 0;
  }
  const bool priced = scope.look(WarehouseKey{warehouse}, [&](const auto& row) {
    output.warehouse_tax = row.template get<&WarehouseRow::tax>();
  }) && scope.patch(DistrictKey{warehouse, district}, [&](const StoredRow<DistrictRow>& row) {
    output.district_tax = row.get<&DistrictRow::tax>();
    output.order = row.get<&DistrictRow::next_order>();
    row.set<&DistrictRow::next_order>(output.order + 1);
  }) && scope.read(input.customer, [&](const CustomerRow& row) {
    output.discount = row.discount;
    output.last = row.last;
    output.credit = row.credit;
  });
  return priced &&
         scope.insert(OrderKey{warehouse, district, output.order},
                      OrderRow{.entry_date = input.date,
                               .customer = customer,
                               .carrier = kNoCarrier,
                               .line_count = input.line_count,
                               .all_local = all_local}) &&
         scope.insert(NewOrderKey{warehouse, district, output.order}, NewOrderRow{});
}

/// What it reads and changes, and is not hot, is known from the start.
template <Session S>
void prefetch(S& session, const NewOrderInput& input) {
  const auto& [warehouse, district, customer] = input.customer;
  std::array<StockKey, kOrderLinesMax> stock;
  const auto count = static_cast<std::size_t>(input.line_count);
  for (std::size_t i = 0; i < count; ++i) {
    stock[i] = {input.lines[i].supply_warehouse, input.lines[i].item};
  }
  session.prefetch(std::span<const StockKey>(stock).first(count), only(input.customer),
                   only(OrderCustomerKey{warehouse, district, customer, kBehindAll}));
}

/// Rows of ORDER-LINE, which are inserted together.
class NewLines {
 public:
  void add(const OrderLineKey& key, const OrderLineRow& row) noexcept {
    keys_[count_] = key;
    rows_[count_] = row;
    ++count_;
  }
  template <Session S>
  [[nodiscard]] bool enter(TransactionScope<S>& scope) const {
    return scope.insert_many(std::span(keys_).first(count_), std::span(rows_).first(count_));
  }

 private:
  std::array<OrderLineKey, kOrderLinesMax> keys_;
  std::array<OrderLineRow, kOrderLinesMax> rows_;
  std::size_t count_ = 0;
};

/// The line with index `index`, of an item that exists: takes it from the stock.
template <Session S>
[[nodiscard]] bool take_line(TransactionScope<S>& scope, const NewOrderInput& input,
                             std::size_t index, bool original, NewOrderOutput& output,
                             NewLines& lines) {
  const NewOrderInput::Line& line = input.lines[index];
  NewOrderOutput::Line& shown = output.lines[index];
  const auto& [warehouse, district, customer] = input.customer;
  shown.amount = shown.price * line.quantity;
  OrderLineRow row{.amount = shown.amount,
                   .delivery_date = kNoDate,
                   .item = line.item,
                   .supply_warehouse = line.supply_warehouse,
                   .quantity = line.quantity,
                   .district_info = {}};
  const auto take = [&](const StoredRow<StockRow>& stock) {
    shown.stock = stock_after(stock.get<&StockRow::quantity>(), line.quantity);
    stock.set<&StockRow::quantity>(shown.stock);
    stock.set<&StockRow::ytd>(stock.get<&StockRow::ytd>() + line.quantity);
    stock.set<&StockRow::order_count>(stock.get<&StockRow::order_count>() + 1);
    if (line.supply_warehouse != warehouse) {
      stock.set<&StockRow::remote_count>(stock.get<&StockRow::remote_count>() + 1);
    }
    row.district_info =
        stock.text<&StockRow::district_info>(static_cast<std::size_t>(district - 1));
    const bool both = original && stock.variable_text<&StockRow::data>().find(kOriginal) !=
                                      std::string_view::npos;
    shown.brand = both ? 'B' : 'G';
  };
  if (!scope.patch(StockKey{line.supply_warehouse, line.item}, take)) {
    return false;
  }
  const auto number = static_cast<Number>(index) + 1;
  lines.add(OrderLineKey{warehouse, district, output.order, number}, row);
  return true;
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const NewOrderInput& input, NewOrderOutput& output) {
  TransactionScope scope(session, Intent::read_write);
  detail::prefetch(session, input);
  if (!detail::enter_order(scope, input, output)) {
    return Outcome::conflict;
  }
  Cents amounts = 0;
  detail::NewLines lines;
  for (std::size_t i = 0; i < static_cast<std::size_t>(input.line_count); ++i) {
    NewOrderOutput::Line& shown = output.lines[i];
    const ItemKey item{input.lines[i].item};
    bool original = false;
    const Access found = session.read(item, [&](const ItemRow& row) {
      shown.price = row.price;
      shown.item_name = row.name;
      original = row.data.view().find(kOriginal) != std::string_view::npos;
    });
    if (found == Access::missing && item.item == kUnusedItem) {
      return lines.enter(scope) ? Outcome::rolled_back : Outcome::conflict;
    }
    if (found == Access::missing) {
      report_damage(found, describe(item));
    }
    if (found != Access::done || !detail::take_line(scope, input, i, original, output, lines)) {
      return Outcome::conflict;
    }
    amounts += shown.amount;
  }
  if (!lines.enter(scope)) {
    return Outcome::conflict;
  }
  output.total = order_total(amounts, output.discount, output.warehouse_tax, output.district_tax);
  return scope.commit();
}

}  // namespace palimpsest::experiments::tpcc
