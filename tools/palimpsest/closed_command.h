// Code shared by `tables` and `stat`: both read a database that no process writes to, and print to
// standard output.
//
// Failure: print() throws std::system_error.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

#include "tools/palimpsest/closed_files.h"
#include "tools/palimpsest/command.h"

namespace palimpsest::tools {

/// The part of both help texts about exit codes.
inline constexpr const char* kClosedExitCodes =
    "Exit codes: 0 done; 1 failed, or damage was found; 2 usage; 3 cannot be read: in use, never\n"
    "finished, absent, no database, not readable, its log elsewhere, or more to recover than\n"
    "--memory-mib. A database that was not closed cleanly is shown as opening it will recover it.";

/// The argument DB, and the options.
void add_closed_options(CLI::App& command, ClosedOptions& options);

/// Opens the database, calls `look` and returns its exit code; prints why it cannot, in the name of
/// `command`.
[[nodiscard]] int look_at(const char* command, const ClosedOptions& options,
                          const std::function<int(ClosedFiles&)>& look);

/// Prints damage, or a missing part, to standard error.
void tell_problem(const char* command, ErrorCode code, std::string_view what);

/// To standard output.
void print(std::string_view text);

}  // namespace palimpsest::tools
