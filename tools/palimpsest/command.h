// Code shared by the subcommands of `palimpsest`: how to add one, and the meaning of exit codes.
//
// Failure: an action throws Error, or an exception of the standard library; main() prints the
//          message and exits with kFailed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "tools/load/database_place.h"

namespace palimpsest::tools {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  ///< damaged, or could not be read; the message is on stderr
inline constexpr int kUsage = 2;   ///< invalid command line
/// `check`, `tables`, `stat`: in use, never finished, absent or not readable, its log elsewhere,
/// or, for `check`, the output cannot be written; says nothing about the database's state. For
/// `salvage`: nothing was copied.
inline constexpr int kCannotCheck = 3;
inline constexpr int kTooManyFaults = 3;  ///< `load` only: more bad records than allowed
/// `load` only: it failed after its commit.
inline constexpr int kLoaded = 4;
/// `load` only: it failed in its commit; open the database again to see if it has the rows.
inline constexpr int kCommitUnknown = 5;
inline constexpr int kInterrupted = 130;  ///< long-running ones: by SIGINT or SIGTERM

/// Help text of the option --log-directory, common to all subcommands.
inline constexpr const char* kLogDirectoryHelp = "directory of its log, if not beside its pages";

/// The action of the chosen subcommand; returns the exit code. What the databases that it opens
/// report goes to `messages`.
using Action = std::function<int(const load::MessagePlace& messages)>;

/// `palimpsest log DIR`: shows a database's log and verifies it. Each of these functions adds a
/// subcommand to `app`; when it is named, it stores its action in `chosen`. Both outlive the
/// parsing and the call.
void add_log_command(CLI::App& app, Action& chosen);
/// `palimpsest check DIR`: checks a database for damage.
void add_check_command(CLI::App& app, Action& chosen);
/// `palimpsest tables DB [TABLE...]`: shows the schemas of a database's tables.
void add_tables_command(CLI::App& app, Action& chosen);
/// `palimpsest stat DB`: shows how much space each part of a database takes.
void add_stat_command(CLI::App& app, Action& chosen);
/// `palimpsest load DB TABLE FILE...`: loads rows from files into a table.
void add_load_command(CLI::App& app, Action& chosen);
/// `palimpsest dump DB TABLE`: writes the rows of a table as text.
void add_dump_command(CLI::App& app, Action& chosen);
/// `palimpsest backup DB DIR`: copies a database.
void add_backup_command(CLI::App& app, Action& chosen);
/// `palimpsest compact DB`: makes the page file as short as its used pages allow.
void add_compact_command(CLI::App& app, Action& chosen);
/// `palimpsest salvage DB DIR`: all that can be read of a damaged database, in a new one.
void add_salvage_command(CLI::App& app, Action& chosen);

}  // namespace palimpsest::tools
