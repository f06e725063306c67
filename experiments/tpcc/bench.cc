#include "experiments/tpcc/bench.h"

#include <chrono>
#include <string>

namespace palimpsest::experiments::tpcc {
namespace {

/// More warehouses would be terabytes.
constexpr std::int64_t kWarehousesMax = 100'000;
/// Of one warehouse, on average (README.md): an order has ten lines.
constexpr std::uint64_t kRowsOfWarehouse = 559'011;
constexpr std::uint64_t kBytesOfWarehouse = 72'600'000;
constexpr std::uint64_t kBytesOfItems = 7'500'000;

oltp::Workload make_workload() {
  oltp::Workload workload;
  workload.traits = {.name = "tpcc",
                     .label = "TPC-C-like, no think time",
                     .scale_flag = "warehouses",
                     .scale_max = kWarehousesMax};
  for (std::size_t type = 0; type < kTransactionTypes; ++type) {
    workload.types.emplace_back(name_of(static_cast<TransactionType>(type)));
  }
  workload.figure = {
      .type = static_cast<std::size_t>(TransactionType::new_order), .key = "tpmc", .name = "tpmC"};
  for (auto table = static_cast<int>(Table::item); table <= static_cast<int>(Table::order_customer);
       ++table) {
    workload.tables.emplace_back(name_of(static_cast<Table>(table)));
  }
  workload.scale_of = [](std::uint64_t warehouses) {
    return oltp::Scale{
        .rows = warehouses * kRowsOfWarehouse + kItems,
        .data_bytes = warehouses * kBytesOfWarehouse + kBytesOfItems,
        .load_parts = static_cast<std::uint32_t>(warehouses) * kPartsOfWarehouse + 1};
  };
  return workload;
}

Date now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

const oltp::Workload& workload() {
  static const oltp::Workload made = make_workload();
  return made;
}

Tpcc::Transactions::Transactions(const oltp::Options& options, std::uint32_t number,
                                 std::uint64_t seed)
    : source_(seed, constants_of_run(options.seed, constants_of_load(options.seed)),
              {.count = static_cast<Number>(options.scale),
               .home_first = 1,
               .home_last = static_cast<Number>(options.scale)},
              number + std::uint64_t{1}) {}

std::size_t Tpcc::Transactions::choose() {
  input_ = source_.next(now());
  return input_.index();
}

oltp::CheckResult Tpcc::result_of(const Violations& violations) {
  oltp::CheckResult result{.violations = violations.count(), .first = {}};
  for (const Violation& violation : violations.first()) {
    result.first.push_back(describe(violation));
  }
  return result;
}

}  // namespace palimpsest::experiments::tpcc
