// TPC-C on any store, as the driver runs it (oltp/workload.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/oltp/options.h"
#include "experiments/oltp/table_bench.h"
#include "experiments/oltp/workload.h"
#include "experiments/tpcc/consistency.h"
#include "experiments/tpcc/input.h"
#include "experiments/tpcc/population.h"
#include "experiments/tpcc/table_session.h"
#include "experiments/tpcc/transactions.h"

namespace palimpsest::experiments::tpcc {

/// The date in all rows of the population: the first moment of 2026. Always the same, so that every
/// engine is loaded with the same bytes.
inline constexpr Date kLoadedAt = 1'767'225'600'000'000;

/// The part that one thread loads at once: ITEM, and each warehouse in parts of about the same
/// size. Neighbouring parts belong to different tables, in which rows then ascend.
inline constexpr std::uint32_t kPartsOfWarehouse = 3;

/// Its types of transactions, tables, and scale, which is the number of warehouses.
[[nodiscard]] const oltp::Workload& workload();

/// Loads one of the parts into a sink of rows.
template <class Sink>
void load_part(const Population& population, std::uint32_t part, Sink& sink) {
  if (part == 0) {
    population.items(sink);
    return;
  }
  const auto warehouse = static_cast<Number>((part - 1) / kPartsOfWarehouse) + 1;
  switch ((part - 1) % kPartsOfWarehouse) {
    case 0:
      sink.add(WarehouseKey{warehouse}, population.row(WarehouseKey{warehouse}));
      population.districts(warehouse, sink);
      population.stock(warehouse, sink);
      break;
    case 1:
      population.orders(warehouse, sink);
      population.order_lines(warehouse, sink);
      population.new_orders(warehouse, sink);
      break;
    default:
      population.customers(warehouse, sink);
      population.history(warehouse, sink);
      population.customer_names(warehouse, sink);
      population.order_customers(warehouse, sink);
  }
}

/// TPC-C as a workload of oltp/table_bench.h.
class Tpcc {
 public:
  template <StoreSession S>
  using Session = TableSession<S>;

  /// For all terminals of a thread: each transaction is of any warehouse.
  class Transactions {
   public:
    Transactions(const oltp::Options& options, std::uint32_t number, std::uint64_t seed);

    std::size_t choose();
    template <tpcc::Session S>
    Outcome run(S& session) {
      return tpcc::run(session, input_, output_);
    }

   private:
    InputSource source_;
    Input input_;
    Output output_;
  };

  explicit Tpcc(const oltp::Options& options)
      : options_(options), population_(options.seed, kLoadedAt) {}

  [[nodiscard]] Transactions transactions(std::uint32_t number, std::uint64_t seed) const {
    return Transactions(options_, number, seed);
  }

  template <class Sink>
  void load_part(std::uint32_t part, Sink& sink) const {
    tpcc::load_part(population_, part, sink);
  }

  template <Reader R>
  [[nodiscard]] oltp::CheckResult check(R& reader) const {
    return result_of(check_consistency(reader, static_cast<Number>(options_.scale)));
  }

 private:
  [[nodiscard]] static oltp::CheckResult result_of(const Violations& violations);

  oltp::Options options_;
  Population population_;
};

}  // namespace palimpsest::experiments::tpcc
