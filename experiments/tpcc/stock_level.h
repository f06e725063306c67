// The Stock-Level transaction (clause 2.8.2): of the items in a district's last 20 orders, how many
// are low in stock?
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "experiments/tables/transaction_scope.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/session.h"

namespace palimpsest::experiments::tpcc {

inline constexpr Number kOrdersLookedAt = 20;

struct StockLevelOutput {
  Number low_stock = 0;
};

template <Session S>
Outcome run(S& session, const StockLevelInput& input, StockLevelOutput& output) {
  TransactionScope scope(session, Intent::read_only);
  Number next_order = 0;
  if (!scope.read(input.district, [&](const DistrictRow& row) { next_order = row.next_order; })) {
    return Outcome::conflict;
  }
  std::array<Number, static_cast<std::size_t>(kOrdersLookedAt * kOrderLinesMax)> items;
  std::size_t count = 0;
  const Access lines =
      session.visit_order_lines(input.district, next_order - kOrdersLookedAt, next_order - 1,
                                [&](const OrderLineKey&, const OrderLineRow& row) {
                                  if (count < items.size()) {
                                    items[count++] = row.item;
                                  }
                                });
  if (lines != Access::done) {
    return Outcome::conflict;
  }
  std::sort(items.data(), items.data() + count);
  const auto* const end = std::unique(items.data(), items.data() + count);
  std::array<StockKey, items.size()> stock;
  const auto* const last = std::transform(items.cbegin(), end, stock.begin(), [&](Number item) {
    return StockKey{input.district.warehouse, item};
  });
  const std::span<const StockKey> looked_at(stock.data(), last);
  session.prefetch(looked_at);
  output.low_stock = 0;
  if (!scope.look_many(looked_at, [&](std::size_t, const StoredRow<const StockRow>& row) {
        output.low_stock += row.get<&StockRow::quantity>() < input.threshold ? 1 : 0;
      })) {
    return Outcome::conflict;
  }
  return scope.commit();
}

}  // namespace palimpsest::experiments::tpcc
