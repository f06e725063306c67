#include "experiments/engines/store.h"

namespace palimpsest::experiments {

std::string_view name_of(Isolation isolation) noexcept {
  switch (isolation) {
    case Isolation::none: return "none";
    case Isolation::read_committed: return "read_committed";
    case Isolation::snapshot: return "snapshot";
    case Isolation::serializable: return "serializable";
  }
  return "unknown";
}

std::string_view name_of(Durability durability) noexcept {
  return durability == Durability::async ? "async" : "sync";
}

std::string_view name_of(ConflictReason reason) noexcept {
  switch (reason) {
    case ConflictReason::write_conflict: return "write_conflict";
    case ConflictReason::validation: return "validation";
    case ConflictReason::deadlock: return "deadlock";
    case ConflictReason::lock_timeout: return "lock_timeout";
    case ConflictReason::too_old: return "too_old";
    case ConflictReason::other: return "other";
  }
  return "unknown";
}

}  // namespace palimpsest::experiments
