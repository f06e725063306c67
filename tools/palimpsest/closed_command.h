// What `tables` and `stat` have in common: they look at a database that was closed, and say
// something of it on standard output.
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

/// Of what both say about their exit codes.
inline constexpr const char* kClosedExitCodes =
    "Exit codes: 0 done; 1 failed, or damage was met; 2 usage; 3 it cannot be looked at: in use,\n"
    "not closed cleanly (open it with the program it belongs to, which recovers it, and close\n"
    "it), absent, no database, not readable, or its log elsewhere.";

/// The argument DB, and the options.
void add_closed_options(CLI::App& command, ClosedOptions& options);

/// Opens the database and calls `look`, whose exit code it returns; tells what keeps it from that,
/// in the name of `command`.
[[nodiscard]] int look_at(const char* command, const ClosedOptions& options,
                          const std::function<int(ClosedFiles&)>& look);

/// Something that is damaged, or not there, on standard error.
void tell_problem(const char* command, ErrorCode code, std::string_view what);

/// To standard output.
void print(std::string_view text);

}  // namespace palimpsest::tools
