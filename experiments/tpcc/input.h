// The inputs of TPC-C's five transactions, and the mix in which they come.
//
// An InputSource replaces the terminals of one thread: no keying and no think time. A terminal
// belongs to one warehouse for the whole run (clause 2.4.1.1); here a thread stands for all
// terminals of a range of warehouses, and each transaction is that of one of them at random. An
// input is complete: to repeat a transaction after a conflict, run the same input again.
// Thread-safety: one source belongs to one thread; inputs are plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/random.h"
#include "experiments/tpcc/keys.h"
#include "experiments/tpcc/random.h"
#include "experiments/tpcc/rows.h"

namespace palimpsest::experiments::tpcc {

/// No item has this number (clause 2.4.1.5).
inline constexpr Number kUnusedItem = kItems + 1;

/// In the order of the alternatives of Input.
enum class TransactionType : std::uint8_t {
  new_order,
  payment,
  order_status,
  delivery,
  stock_level,
};
inline constexpr std::size_t kTransactionTypes = 5;

/// Its name in results.
[[nodiscard]] std::string_view name_of(TransactionType type) noexcept;

/// Clause 2.4.1.
struct NewOrderInput {
  struct Line {
    Number item = 0;
    Number supply_warehouse = 0;
    Number quantity = 0;
  };
  CustomerKey customer;  ///< of the home warehouse
  Date date = kNoDate;
  Number line_count = 0;
  std::array<Line, kOrderLinesMax> lines;

  /// Whether the user mistyped the last item: the transaction rolls back.
  [[nodiscard]] bool rolls_back() const noexcept {
    return lines[static_cast<std::size_t>(line_count - 1)].item == kUnusedItem;
  }
};

/// A customer by number, or by last name.
struct CustomerChoice {
  DistrictKey district;
  bool by_name = false;
  Number customer = 0;  ///< unless by_name
  FixedText<16> last;   ///< if by_name
};

/// Clause 2.5.1.
struct PaymentInput {
  DistrictKey district;  ///< where the customer pays
  CustomerChoice customer;
  Cents amount = 0;
  Date date = kNoDate;
  HistoryKey history;  ///< of the row to be made
};

/// Clause 2.6.1.
struct OrderStatusInput {
  CustomerChoice customer;
};

/// Clause 2.7.1.
struct DeliveryInput {
  Number warehouse = 0;
  Number carrier = 0;
  Date date = kNoDate;
};

/// Clause 2.8.1.
struct StockLevelInput {
  DistrictKey district;
  Number threshold = 0;
};

using Input =
    std::variant<NewOrderInput, PaymentInput, OrderStatusInput, DeliveryInput, StockLevelInput>;

[[nodiscard]] inline TransactionType type_of(const Input& input) noexcept {
  return static_cast<TransactionType>(input.index());
}

/// All warehouses, and those of one source's terminals: [home_first, home_last].
struct Warehouses {
  Number count = 1;
  Number home_first = 1;
  Number home_last = 1;
};

/// The shuffled deck of clause 5.2.4.2: each 100 transactions in a row, from the first on, have as
/// many of each type as kShares says.
class Deck {
 public:
  static constexpr std::size_t kCards = 100;
  /// New-order, payment, order-status, delivery, stock-level (clause 5.2.3).
  static constexpr std::array<std::size_t, kTransactionTypes> kShares = {45, 43, 4, 4, 4};

  Deck() noexcept;

  [[nodiscard]] TransactionType draw(Random& random) noexcept;

 private:
  std::array<TransactionType, kCards> cards_;
  std::size_t drawn_ = kCards;
};

class InputSource {
 public:
  /// `constants` are the same for all sources of a run. `writer`, above 0, names the history rows,
  /// for example the thread's number. Sources of one run have different ones; another run may reuse
  /// them, if it is over before the first date given to this one.
  InputSource(std::uint64_t seed, const NonUniformConstants& constants,
              const Warehouses& warehouses, std::uint64_t writer) noexcept;

  /// The next transaction of the mix; `now`, not kNoDate, is the date of its new rows.
  [[nodiscard]] Input next(Date now) noexcept;

  [[nodiscard]] NewOrderInput new_order(Date now) noexcept;
  [[nodiscard]] PaymentInput payment(Date now) noexcept;
  [[nodiscard]] OrderStatusInput order_status() noexcept;
  [[nodiscard]] DeliveryInput delivery(Date now) noexcept;
  [[nodiscard]] StockLevelInput stock_level() noexcept;

 private:
  [[nodiscard]] Number home() noexcept;
  [[nodiscard]] Number district() noexcept;
  /// Any warehouse but `home`; `home` if there is no other.
  [[nodiscard]] Number remote(Number home) noexcept;
  [[nodiscard]] NewOrderInput::Line line(Number home) noexcept;
  [[nodiscard]] CustomerChoice choose_customer(const DistrictKey& district) noexcept;

  Random random_;
  NonUniformConstants constants_;
  Warehouses warehouses_;
  HistoryKey last_history_;  ///< of the newest payment
  Deck deck_;
};

}  // namespace palimpsest::experiments::tpcc
