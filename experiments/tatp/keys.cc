#include "experiments/tatp/keys.h"

namespace palimpsest::experiments::tatp {

std::string_view name_of(Table table) noexcept {
  switch (table) {
    case Table::subscriber: return "subscriber";
    case Table::access_info: return "access_info";
    case Table::special_facility: return "special_facility";
    case Table::call_forwarding: return "call_forwarding";
    case Table::subscriber_number: return "subscriber_number";
  }
  return "unknown table";
}

}  // namespace palimpsest::experiments::tatp
