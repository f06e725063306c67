// `palimpsest backup DB DIR`: a copy of a database, opened once, so that it is known to open.
//
// The database is opened read-only; a program that has it open copies it itself, by
// Database::backup().
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "palimpsest/backup.h"
#include "palimpsest/error.h"

#include "tools/load/database_place.h"
#include "tools/load/interrupt.h"
#include "tools/load/message.h"
#include "tools/load/output_place.h"
#include "tools/load/progress.h"
#include "tools/load/usage_error.h"
#include "tools/palimpsest/command.h"

namespace palimpsest::tools {

using load::tell;

namespace {

constexpr double kBytesPerMegabyte = 1e6;
constexpr std::uint64_t kRateMibMax = std::uint64_t{1} << 20U;

struct BackupFlags {
  std::string database{};
  std::string log_directory{};
  load::MessagePlace messages{};
  std::string copy{};
  std::uint64_t rate_mib = 0;
  bool no_open = false;
};

Database open_to_copy(const load::DatabasePlace& place) {
  try {
    return load::open_to_read(place);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::locked) {
      throw;
    }
    throw Error(error.code(),
                fmt::format("{}; the program that has it open can copy it with Database::backup()",
                            error.what()));
  }
}

BackupReport copy_showing_progress(const Database& database, const BackupFlags& flags) {
  load::Counters counters;
  counters.phase = load::Phase::copying;
  const load::Progress shown(
      isatty(STDERR_FILENO) == 1 ? load::ProgressMode::bar : load::ProgressMode::none, counters);
  return database.backup(flags.copy, {.bytes_per_second_max = flags.rate_mib << 20U,
                                      .progress = [&](const BackupProgress& now) {
                                        load::stop_if_interrupted();
                                        counters.bytes_taken = now.bytes_copied;
                                        counters.bytes_total = now.bytes_total;
                                      }});
}

void show(const BackupFlags& flags, const BackupReport& report) {
  const auto megabytes = [](std::uint64_t bytes) {
    return static_cast<double>(bytes) / kBytesPerMegabyte;
  };
  const std::chrono::duration<double> seconds = report.duration;
  fmt::print("{} is copied into {}: {:.1f} MB of pages, {:.1f} MB of log, in {:.2f} s\n",
             flags.database, flags.copy, megabytes(report.page_bytes), megabytes(report.log_bytes),
             seconds.count());
  if (flags.no_open) {
    fmt::print("the copy is in the state after a crash: opening it recovers it\n");
  } else {
    fmt::print(
        "the copy was opened, recovered and closed; palimpsest check {} verifies all of it\n",
        flags.copy);
  }
}

/// Once `is_whole` is set the copy is complete, and stays whatever happens.
int back_up(const BackupFlags& flags, bool& is_whole) {
  const load::DatabasePlace place{
      .pages = flags.database, .log = flags.log_directory, .messages = flags.messages};
  load::require_apart(flags.copy, place.pages);
  load::require_apart(flags.copy, place.log);
  Database database = open_to_copy(place);
  const BackupReport report = copy_showing_progress(database, flags);
  is_whole = true;
  if (report.damaged_pages != 0) {
    tell(
        fmt::format("palimpsest backup: corruption: {} pages of {} are damaged, and their copies, "
                    "too; palimpsest check {} names them\n",
                    report.damaged_pages, flags.database, flags.database));
  }
  database.close();
  if (!flags.no_open) {
    load::open_database({.pages = flags.copy, .messages = flags.messages},
                        {.create_if_missing = false})
        .close();
  }
  show(flags, report);
  return report.damaged_pages == 0 ? kOk : kFailed;
}

int run(const BackupFlags& flags) {
  const load::InterruptGuard guard;
  bool is_whole = false;
  try {
    return back_up(flags, is_whole);
  } catch (const load::UsageError& error) {
    tell(fmt::format("palimpsest backup: {}\n", error.what()));
    return kUsage;
  } catch (const load::Interrupted&) {
    tell("palimpsest backup: interrupted; nothing is left of the copy\n");
    return kInterrupted;
  } catch (const Error& error) {
    tell(fmt::format("palimpsest backup: {}: {}{}\n", name_of(error.code()), error.what(),
                     is_whole ? "; the copy was complete before that, and is kept" : ""));
    return kFailed;
  }
}

}  // namespace

void add_backup_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "backup", "Copies a database that no other program has open into a directory of its own.");
  const auto flags = std::make_shared<BackupFlags>();
  command->add_option("DB", flags->database, "the database's directory")->required();
  command
      ->add_option("DIR", flags->copy,
                   "the copy's directory, empty or absent; the copy's log lies there, too")
      ->required();
  command->add_option("--log-directory", flags->log_directory, kLogDirectoryHelp);
  command
      ->add_option("--rate-mib", flags->rate_mib,
                   "copy at most so many MiB a second (default: 0, no limit)")
      ->check(CLI::Range(std::uint64_t{0}, kRateMibMax));
  command->add_flag("--no-open", flags->no_open,
                    "leave the copy in the state after a crash: opening it recovers it, and check\n"
                    "refuses it until then");
  command->footer(
      "A program that has a database open can copy it while using it, with Database::backup().\n"
      "The copy is opened and closed once, which recovers it and shows that it opens. Until all "
      "of\n"
      "it is there, DIR holds no database; a backup that fails or is interrupted leaves nothing.\n"
      "Exit codes: 0 done; 1 failed, or pages of DB are damaged, and so are those of the copy;\n"
      "2 usage; 130 interrupted.");
  command->callback([flags, &chosen] {
    chosen = [flags](const load::MessagePlace& messages) {
      flags->messages = messages;
      return run(*flags);
    };
  });
}

}  // namespace palimpsest::tools
