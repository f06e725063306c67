#include "palimpsest/error.h"

namespace palimpsest {

std::string_view name_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::io_error: return "io_error";
    case ErrorCode::no_space: return "no_space";
    case ErrorCode::corruption: return "corruption";
    case ErrorCode::not_a_database: return "not_a_database";
    case ErrorCode::unsupported_version: return "unsupported_version";
    case ErrorCode::page_size_mismatch: return "page_size_mismatch";
    case ErrorCode::locked: return "locked";
    case ErrorCode::permission_denied: return "permission_denied";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::already_exists: return "already_exists";
    case ErrorCode::not_closed_cleanly: return "not_closed_cleanly";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::failed: return "failed";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::transaction_too_old: return "transaction_too_old";
    case ErrorCode::too_many_transactions: return "too_many_transactions";
    case ErrorCode::conflict: return "conflict";
    case ErrorCode::snapshot_too_old: return "snapshot_too_old";
    case ErrorCode::version_budget_exceeded: return "version_budget_exceeded";
    case ErrorCode::gate_timeout: return "gate_timeout";
    case ErrorCode::not_serializable: return "not_serializable";
    case ErrorCode::too_many_bulks: return "too_many_bulks";
    case ErrorCode::log_not_found: return "log_not_found";
  }
  return "unknown";
}

}  // namespace palimpsest
