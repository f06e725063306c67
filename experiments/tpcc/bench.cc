#include "experiments/tpcc/bench.h"

#include <string>

namespace palimpsest::experiments::tpcc {
namespace {

/// More warehouses than that are terabytes.
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

}  // namespace

const oltp::Workload& workload() {
  static const oltp::Workload made = make_workload();
  return made;
}

}  // namespace palimpsest::experiments::tpcc
