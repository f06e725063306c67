#include "experiments/tpcc/input.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace palimpsest::experiments::tpcc {

std::string_view name_of(TransactionType type) noexcept {
  switch (type) {
    case TransactionType::new_order: return "new_order";
    case TransactionType::payment: return "payment";
    case TransactionType::order_status: return "order_status";
    case TransactionType::delivery: return "delivery";
    case TransactionType::stock_level: return "stock_level";
  }
  return "unknown";
}

Deck::Deck() noexcept {
  std::size_t card = 0;
  for (std::size_t type = 0; type < kTransactionTypes; ++type) {
    for (std::size_t i = 0; i < kShares[type]; ++i) {
      cards_[card++] = static_cast<TransactionType>(type);
    }
  }
  check(card == kCards, "the shares of the mix are not as many as the cards");
}

TransactionType Deck::draw(Random& random) noexcept {
  if (drawn_ == kCards) {
    for (std::size_t left = kCards; left > 1; --left) {
      std::swap(cards_[left - 1], cards_[random.below(left)]);
    }
    drawn_ = 0;
  }
  return cards_[drawn_++];
}

InputSource::InputSource(std::uint64_t seed, const NonUniformConstants& constants,
                         const Warehouses& warehouses, std::uint64_t writer) noexcept
    : random_(seed), constants_(constants), warehouses_(warehouses), last_history_{writer, 0} {
  check(writer != 0, "writer 0 is that of the initial population");
  check(1 <= warehouses.home_first && warehouses.home_first <= warehouses.home_last &&
            warehouses.home_last <= warehouses.count,
        "home warehouses that do not exist");
}

Input InputSource::next(Date now) noexcept {
  switch (deck_.draw(random_)) {
    case TransactionType::new_order: return new_order(now);
    case TransactionType::payment: return payment(now);
    case TransactionType::order_status: return order_status();
    case TransactionType::delivery: return delivery(now);
    case TransactionType::stock_level: break;
  }
  return stock_level();
}

Number InputSource::home() noexcept {
  return number_between(random_, warehouses_.home_first, warehouses_.home_last);
}

Number InputSource::district() noexcept {
  return number_between(random_, 1, kDistricts);
}

Number InputSource::remote(Number home) noexcept {
  if (warehouses_.count == 1) {
    return home;
  }
  const Number other = number_between(random_, 1, warehouses_.count - 1);
  return other < home ? other : other + 1;
}

NewOrderInput::Line InputSource::line(Number home) noexcept {
  NewOrderInput::Line line;
  line.item = random_item(random_, constants_);
  line.supply_warehouse = percent_of(random_, 1) ? remote(home) : home;
  line.quantity = number_between(random_, 1, 10);
  return line;
}

NewOrderInput InputSource::new_order(Date now) noexcept {
  NewOrderInput input;
  const Number warehouse = home();
  input.customer = {warehouse, district(), random_customer(random_, constants_)};
  input.date = now;
  input.line_count = number_between(random_, kOrderLinesMin, kOrderLinesMax);
  const auto lines = static_cast<std::size_t>(input.line_count);
  for (std::size_t i = 0; i < lines; ++i) {
    input.lines[i] = line(warehouse);
  }
  if (percent_of(random_, 1)) {
    input.lines[lines - 1].item = kUnusedItem;
  }
  return input;
}

CustomerChoice InputSource::choose_customer(const DistrictKey& district) noexcept {
  CustomerChoice choice;
  choice.district = district;
  choice.by_name = percent_of(random_, 60);
  if (choice.by_name) {
    choice.last = last_name(random_last_name(random_, constants_));
  } else {
    choice.customer = random_customer(random_, constants_);
  }
  return choice;
}

PaymentInput InputSource::payment(Date now) noexcept {
  check(now > kNoDate, "a payment without a date");
  PaymentInput input;
  input.district = {home(), district()};
  DistrictKey of_customer = input.district;
  if (percent_of(random_, 15)) {
    of_customer = {remote(input.district.warehouse), district()};
  }
  input.customer = choose_customer(of_customer);
  input.amount = cents_between(random_, 1'00, 5'000'00);
  input.date = now;
  // The clock may stand still between two payments, but one thread makes less than one a
  // microsecond: numbers stay below the dates that a later run begins with.
  last_history_.sequence =
      std::max(last_history_.sequence + 1, static_cast<std::uint64_t>(input.date));
  input.history = last_history_;
  return input;
}

OrderStatusInput InputSource::order_status() noexcept {
  const Number warehouse = home();
  return {choose_customer({warehouse, district()})};
}

DeliveryInput InputSource::delivery(Date now) noexcept {
  const Number warehouse = home();
  return {.warehouse = warehouse, .carrier = number_between(random_, 1, 10), .date = now};
}

StockLevelInput InputSource::stock_level() noexcept {
  const Number warehouse = home();
  const Number in_district = district();
  return {.district = {warehouse, in_district}, .threshold = number_between(random_, 10, 20)};
}

}  // namespace palimpsest::experiments::tpcc
