// TPC-C on any store, as the driver runs it (oltp/workload.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "experiments/common/mix.h"
#include "experiments/oltp/batch_inserter.h"
#include "experiments/oltp/table_reader.h"
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

/// What is loaded at once by one thread: ITEM, and each warehouse in parts of about the same size.
/// Neighbouring parts belong to different tables, in which rows then ascend.
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

template <oltp::StoreSession S>
class TableLoader final : public oltp::Loader {
 public:
  TableLoader(std::unique_ptr<S> session, std::uint64_t seed)
      : session_(std::move(session)), population_(seed, kLoadedAt) {}

  void load(std::uint32_t part, oltp::LoadProgress& progress) override {
    oltp::BatchInserter<S> inserter(*session_, progress);
    load_part(population_, part, inserter);
    inserter.finish();
  }

 private:
  std::unique_ptr<S> session_;
  Population population_;
};

/// All terminals of a thread: each transaction is that of any warehouse.
template <oltp::StoreSession S>
class ThreadTerminal final : public oltp::Terminal {
 public:
  ThreadTerminal(std::unique_ptr<S> session, const oltp::Options& options, std::uint32_t number)
      : session_(std::move(session)),
        source_(mix64(options.seed ^ mix64(number + std::uint64_t{1})),
                constants_of_run(options.seed, constants_of_load(options.seed)),
                {.count = static_cast<Number>(options.scale),
                 .home_first = 1,
                 .home_last = static_cast<Number>(options.scale)},
                number + std::uint64_t{1}) {}

  std::size_t choose() override {
    input_ = source_.next(now());
    return input_.index();
  }
  Outcome run() override { return tpcc::run(session_, input_, output_); }
  [[nodiscard]] oltp::ConflictReason conflict_reason() const noexcept override {
    return session_.conflict_reason();
  }

 private:
  [[nodiscard]] static Date now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  TableSession<S> session_;
  InputSource source_;
  Input input_;
  Output output_;
};

template <oltp::Store S>
class Bench final : public oltp::BenchOn<S> {
  using Session = typename S::Session;

 public:
  Bench(std::unique_ptr<S> store, const oltp::Options& options)
      : oltp::BenchOn<S>(std::move(store)), options_(options) {}

  [[nodiscard]] std::unique_ptr<oltp::Loader> open_loader() override {
    return std::make_unique<TableLoader<Session>>(
        this->store().open_session(oltp::SessionUse::load), options_.seed);
  }

  [[nodiscard]] std::unique_ptr<oltp::Terminal> open_terminal(std::uint32_t number) override {
    return std::make_unique<ThreadTerminal<Session>>(
        this->store().open_session(oltp::SessionUse::run), options_, number);
  }

  [[nodiscard]] oltp::CheckResult check() override {
    oltp::TableSession<Session> session(this->store().open_session(oltp::SessionUse::run));
    oltp::TableReader<Session> reader(session);
    const Violations violations = check_consistency(reader, static_cast<Number>(options_.scale));
    oltp::CheckResult result{.violations = violations.count(), .first = {}};
    for (const Violation& violation : violations.first()) {
      result.first.push_back(describe(violation));
    }
    return result;
  }

 private:
  oltp::Options options_;
};

/// TPC-C on that engine.
template <oltp::Store S>
[[nodiscard]] oltp::EngineEntry bench_on(oltp::StoreEntry<S> engine) {
  return {.traits = std::move(engine.traits),
          .open = [open = std::move(engine.open)](
                      const oltp::Options& options,
                      const oltp::StoreSettings& settings) -> std::unique_ptr<oltp::Bench> {
            return std::make_unique<Bench<S>>(open(settings), options);
          }};
}

}  // namespace palimpsest::experiments::tpcc
