// What the subcommands of `palimpsest` share: how one is added, and what the exit codes mean.
//
// Failure: an action throws Error, or what the standard library throws; main() prints the message
//          and exits with kFailed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace palimpsest::tools {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;  ///< damaged, or could not be read; the message is on stderr
inline constexpr int kUsage = 2;   ///< the command line means nothing
/// `check`, `tables`, `stat`: in use, never finished, absent or not readable, its log elsewhere,
/// or, of `check`, the output cannot be written; nothing is said of it.
inline constexpr int kCannotCheck = 3;
inline constexpr int kTooManyFaults =
    3;  ///< `load` only: more bad records than it was to go on with
/// `load` only: it failed after its commit.
inline constexpr int kLoaded = 4;
/// `load` only: it failed in its commit; the database, opened again, tells if the rows are there.
inline constexpr int kCommitUnknown = 5;
inline constexpr int kInterrupted = 130;  ///< those that take long: by SIGINT or SIGTERM

/// Of the option --log-directory, which all of them have.
inline constexpr const char* kLogDirectoryHelp = "where its log is, if not beside its pages";

/// What the chosen subcommand does; returns the exit code.
using Action = std::function<int()>;

/// `palimpsest log DIR`: shows a database's log and verifies it. Each of these adds a subcommand to
/// `app` that, when it is named, puts itself into `chosen`; both outlive the parsing and the call.
void add_log_command(CLI::App& app, Action& chosen);
/// `palimpsest check DIR`: whether a database is whole.
void add_check_command(CLI::App& app, Action& chosen);
/// `palimpsest tables DB [TABLE...]`: what the tables of a database are.
void add_tables_command(CLI::App& app, Action& chosen);
/// `palimpsest stat DB`: what takes which room in a database.
void add_stat_command(CLI::App& app, Action& chosen);
/// `palimpsest load DB TABLE FILE...`: rows from files into a table.
void add_load_command(CLI::App& app, Action& chosen);
/// `palimpsest dump DB TABLE`: the rows of a table as text.
void add_dump_command(CLI::App& app, Action& chosen);
/// `palimpsest backup DB DIR`: a copy of a database.
void add_backup_command(CLI::App& app, Action& chosen);
/// `palimpsest compact DB`: a page file as short as what is in use.
void add_compact_command(CLI::App& app, Action& chosen);

}  // namespace palimpsest::tools
