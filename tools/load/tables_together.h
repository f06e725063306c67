// Work on many tables beside each other: what fails for one table costs no other table its work.
//
// An error that every other table would meet as well (no_space, out_of_memory, failed, locked) and
// an interrupt begin no further table; those that have been begun go on to their end.
// Thread-safety: one call. Failure: Interrupted, once all threads have ended.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/function_ref.h"

namespace palimpsest::load {

struct TableFailure {
  std::size_t table = 0;  ///< its number
  ErrorCode code = ErrorCode::failed;
  std::string message{};
};

struct WorkTogether {
  std::size_t not_begun = 0;             ///< tables
  std::vector<TableFailure> failures{};  ///< in the order of the tables
};

/// Calls work(number) for each number below `tables`, in that order, from up to `threads` threads,
/// the calling one included; from fewer if the system does not allow so many.
[[nodiscard]] WorkTogether work_together(std::size_t tables, std::size_t threads,
                                         FunctionRef<void(std::size_t)> work);

/// Nothing if no table has failed. Else throws Error with the code of the first failure; the
/// message has all of them. `done`: "dumped", "loaded". `way_out` is put behind it.
void require_all(const WorkTogether& work, const std::vector<std::string>& tables,
                 std::string_view done, std::string_view way_out);

}  // namespace palimpsest::load
