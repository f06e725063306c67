#include "experiments/tables/transaction_scope.h"

#include <fmt/format.h>

namespace palimpsest::experiments {

void report_damage(Access access, const std::string& key) {
  throw DamagedRecord(
      fmt::format("{} {}", key, access == Access::exists ? "exists already" : "is missing"));
}

}  // namespace palimpsest::experiments
