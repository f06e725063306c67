#include "experiments/tpcc/keys.h"

namespace palimpsest::experiments::tpcc {

std::string_view name_of(Table table) noexcept {
  switch (table) {
    case Table::item: return "item";
    case Table::warehouse: return "warehouse";
    case Table::district: return "district";
    case Table::customer: return "customer";
    case Table::history: return "history";
    case Table::new_order: return "new_order";
    case Table::order: return "order";
    case Table::order_line: return "order_line";
    case Table::stock: return "stock";
    case Table::customer_name: return "customer_name";
    case Table::order_customer: return "order_customer";
  }
  return "unknown table";
}

}  // namespace palimpsest::experiments::tpcc
