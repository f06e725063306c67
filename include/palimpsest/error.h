// The one exception type of Palimpsest: what went wrong in the environment, and where.
//
// Expected outcomes (absent, duplicate, conflict) are return values. Errors are thrown for what a
// caller cannot prevent by checking first: a failing or full disk, a damaged file, a limit
// exceeded. The message names what failed, where, and the limit or the values that did not agree.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace palimpsest {

/// What kind of error it is; stable, so that programs may act on it.
enum class ErrorCode : std::uint8_t {
  io_error = 1,         ///< the storage device refused or failed an operation
  no_space,             ///< the storage device or a quota is full; reads go on, writing may resume
  corruption,           ///< stored bytes contradict their checksum, identity or structure
  not_a_database,       ///< the file or directory was not written by Palimpsest
  unsupported_version,  ///< a newer or older format, or a feature bit this build does not know
  page_size_mismatch,   ///< the database has another page size than the caller expects
  locked,               ///< another process (or this one) has the database open
  permission_denied,    ///< the operating system denies access
  not_found,            ///< a file, table or row that must exist does not
  already_exists,       ///< a file, table or row that must not exist does
  not_closed_cleanly,   ///< the database was not closed and cannot be opened without recovery
  invalid_argument,     ///< an option, key or value beyond a limit; the message names the limit
  failed,         ///< an earlier failed sync or write made the database read-only until reopened
  out_of_memory,  ///< the configured memory is too small for the request
  transaction_too_old,      ///< it pinned the log for too long and is rolled back; try again
  too_many_transactions,    ///< Options::max_transactions are active, and none ended in time
  conflict,                 ///< a conflicting transaction has changed it; roll back and try again
  snapshot_too_old,         ///< versions that the snapshot needs are gone; try again
  version_budget_exceeded,  ///< one transaction changes more rows than versions fit
  gate_timeout,             ///< a bulk waited too long for older readers; try again
  not_serializable,  ///< something that the transaction read has changed; rolled back; try again
  too_many_bulks,    ///< an old snapshot keeps thousands of bulks from retiring; end it, try again
  log_not_found,     ///< there is a database; its log is not where Options::log_directory says
};

/// The code's name, as it is spelled in `ErrorCode`.
[[nodiscard]] std::string_view name_of(ErrorCode code) noexcept;

/// Thrown by Palimpsest for failures of the environment. Immutable; safe to copy across threads.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace palimpsest
