// The New-Order transaction (clause 2.4.2): a customer orders 5 to 15 items.
//
// One in a hundred names an item that does not exist, and rolls back when all its other lines are
// entered (clause 2.4.2.3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/random.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

/// The data that the terminal shows (clause 2.4.3).
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

/// The price of an order, with the customer's discount and both taxes; half a cent is rounded up.
[[nodiscard]] Cents order_total(Cents amounts, Rate discount, Rate warehouse_tax,
                                Rate district_tax) noexcept;

/// S_QUANTITY after `ordered` pieces have been sold: below 10 it is filled up by 91.
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

/// Prefetches the rows that it reads and changes, except hot ones; their keys are known from the
/// start.
template <Session S>
void prefetch(S& session, const NewOrderInput& input) {
  const auto& [warehouse, district, customer] = input.customer;
  std::array<StockKey, kOrderLinesMax> stock;
  std::array<ItemKey, kOrderLinesMax> items;
  const auto count = static_cast<std::size_t>(input.line_count);
  for (std::size_t i = 0; i < count; ++i) {
    stock[i] = {input.lines[i].supply_warehouse, input.lines[i].item};
    items[i] = {input.lines[i].item};
  }
  session.prefetch(std::span<const StockKey>(stock).first(count),
                   std::span<const ItemKey>(items).first(count), only(input.customer),
                   only(OrderCustomerKey{warehouse, district, customer, kBehindAll}));
}

/// Processes the order's lines, step by step for all of them.
template <Session S>
class Lines {
 public:
  Lines(TransactionScope<S>& scope, const NewOrderInput& input, NewOrderOutput& output) noexcept
      : scope_(scope), input_(input), output_(output) {}

  /// Finds the items, except one that does not exist, if the last line names it. False: a conflict.
  [[nodiscard]] bool price();
  [[nodiscard]] bool has_unused() const noexcept { return count_ != line_count(); }
  /// Takes the lines' quantities from the stock. False: a conflict.
  [[nodiscard]] bool take();
  /// Inserts the lines. False: a conflict.
  [[nodiscard]] bool enter() {
    std::array<OrderLineKey, kOrderLinesMax> keys;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto& [warehouse, district, customer] = input_.customer;
      keys[i] = {warehouse, district, output_.order, static_cast<Number>(i) + 1};
    }
    return scope_.insert_many(std::span<const OrderLineKey>(keys).first(count_),
                              std::span<const OrderLineRow>(rows_).first(count_));
  }
  [[nodiscard]] Cents amounts() const noexcept {
    Cents sum = 0;
    for (const NewOrderOutput::Line& line : std::span(output_.lines).first(count_)) {
      sum += line.amount;
    }
    return sum;
  }

 private:
  [[nodiscard]] std::size_t line_count() const noexcept {
    return static_cast<std::size_t>(input_.line_count);
  }
  void take_line(std::size_t number, const StoredRow<StockRow>& stock) noexcept;

  TransactionScope<S>& scope_;
  const NewOrderInput& input_;
  NewOrderOutput& output_;
  std::size_t count_ = 0;  ///< of lines whose item exists
  std::array<bool, kOrderLinesMax> original_{};
  std::array<OrderLineRow, kOrderLinesMax> rows_;
};

template <Session S>
bool Lines<S>::price() {
  std::array<ItemKey, kOrderLinesMax> items;
  for (std::size_t i = 0; i < line_count(); ++i) {
    items[i] = ItemKey{input_.lines[i].item};
  }
  std::size_t found = 0;
  const Access access = scope_.session().read_many(
      std::span<const ItemKey>(items).first(line_count()), [&](std::size_t i, const ItemRow& row) {
        output_.lines[i].price = row.price;
        output_.lines[i].item_name = row.name;
        original_[i] = row.data.view().find(kOriginal) != std::string_view::npos;
        found = i + 1;
      });
  count_ = line_count();
  if (access == Access::missing && items[count_ - 1].item == kUnusedItem && found == count_ - 1) {
    --count_;
    return true;
  }
  if (access == Access::missing) {
    report_damage(access, describe(items[std::min(found, count_ - 1)]));
  }
  return access == Access::done;
}

template <Session S>
bool Lines<S>::take() {
  std::array<StockKey, kOrderLinesMax> stock;
  for (std::size_t i = 0; i < count_; ++i) {
    stock[i] = {input_.lines[i].supply_warehouse, input_.lines[i].item};
  }
  return scope_.patch_many(
      std::span<const StockKey>(stock).first(count_),
      [&](std::size_t i, const StoredRow<StockRow>& row) { take_line(i, row); });
}

template <Session S>
void Lines<S>::take_line(std::size_t number, const StoredRow<StockRow>& stock) noexcept {
  const NewOrderInput::Line& line = input_.lines[number];
  NewOrderOutput::Line& shown = output_.lines[number];
  shown.amount = shown.price * line.quantity;
  shown.stock = stock_after(stock.get<&StockRow::quantity>(), line.quantity);
  stock.set<&StockRow::quantity>(shown.stock);
  stock.set<&StockRow::ytd>(stock.get<&StockRow::ytd>() + line.quantity);
  stock.set<&StockRow::order_count>(stock.get<&StockRow::order_count>() + 1);
  if (line.supply_warehouse != input_.customer.warehouse) {
    stock.set<&StockRow::remote_count>(stock.get<&StockRow::remote_count>() + 1);
  }
  const bool both = original_[number] && stock.variable_text<&StockRow::data>().find(kOriginal) !=
                                             std::string_view::npos;
  shown.brand = both ? 'B' : 'G';
  rows_[number] = {.amount = shown.amount,
                   .delivery_date = kNoDate,
                   .item = line.item,
                   .supply_warehouse = line.supply_warehouse,
                   .quantity = line.quantity,
                   .district_info = stock.text<&StockRow::district_info>(
                       static_cast<std::size_t>(input_.customer.district - 1))};
}

}  // namespace detail

template <Session S>
Outcome run(S& session, const NewOrderInput& input, NewOrderOutput& output) {
  TransactionScope scope(session, Intent::read_write);
  detail::prefetch(session, input);
  if (!detail::enter_order(scope, input, output)) {
    return Outcome::conflict;
  }
  detail::Lines<S> lines(scope, input, output);
  if (!lines.price() || !lines.take() || !lines.enter()) {
    return Outcome::conflict;
  }
  if (lines.has_unused()) {
    return Outcome::rolled_back;
  }
  output.total =
      order_total(lines.amounts(), output.discount, output.warehouse_tax, output.district_tax);
  return scope.commit();
}

}  // namespace palimpsest::experiments::tpcc
