// `palimpsest salvage DB DIR`: all that can be read of a damaged database, in a new one.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "palimpsest/error.h"
#include "palimpsest/salvage.h"

#include "tools/load/interrupt.h"
#include "tools/load/message.h"
#include "tools/load/progress.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/directories.h"
#include "tools/palimpsest/salvage_report.h"

namespace palimpsest::tools {

using load::tell;

namespace {

struct SalvageFlags {
  std::string database{};
  std::string copy{};
  std::string log_directory{};
  bool no_log = false;
  bool json = false;
  bool doubtful = false;
  bool lost_trees = false;
  std::uint64_t memory_mib = 64;
  load::MessagePlace messages{};
};

/// Where it is said to be, or in the folder "log" of the database, as the other subcommands find
/// it.
std::string log_directory_of(const SalvageFlags& flags) {
  if (!flags.log_directory.empty() || flags.no_log || !has_log(flags.database, "")) {
    return flags.log_directory;
  }
  const std::string found = open_log_directory(flags.database, "")->path();
  return std::filesystem::equivalent(found, flags.database) ? std::string() : found;
}

SalvageReport salvage_showing_progress(const SalvageFlags& flags) {
  load::Counters counters;
  counters.phase = load::Phase::copying;
  const load::Progress shown(
      isatty(STDERR_FILENO) == 1 ? load::ProgressMode::bar : load::ProgressMode::none, counters);
  return salvage(flags.database, flags.copy,
                 {.log_directory = log_directory_of(flags),
                  .without_log = flags.no_log,
                  .memory_bytes = flags.memory_mib << 20U,
                  .doubtful = flags.doubtful,
                  .lost_trees = flags.lost_trees,
                  .log = flags.messages.function,
                  .log_level = flags.messages.level,
                  .progress = [&](const SalvageProgress& now) {
                    load::stop_if_interrupted();
                    counters.bytes_taken = now.pages_read;
                    counters.bytes_total = now.pages_total;
                    counters.rows = now.rows;
                  }});
}

int run(const SalvageFlags& flags) {
  const load::InterruptGuard guard;
  try {
    const SalvageReport report = salvage_showing_progress(flags);
    show_salvage(report, flags.copy, flags.json);
    return report.is_whole() ? kOk : kFailed;
  } catch (const load::Interrupted&) {
    tell("palimpsest salvage: interrupted; nothing is left of the copy\n");
    return kInterrupted;
  } catch (const Error& error) {
    if (flags.json) {
      show_salvage_error(error);
    }
    const bool wants_flag = error.code() == ErrorCode::log_not_found;
    tell(fmt::format("palimpsest salvage: {}: {}{}\n", name_of(error.code()), error.what(),
                     wants_flag ? "; --no-log salvages without it" : ""));
    return kCannotCheck;
  }
}

}  // namespace

void add_salvage_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "salvage",
      "Copies everything readable of a damaged database into a new one, table by table, and\n"
      "reports what is missing. The damaged database is not changed.");
  const auto flags = std::make_shared<SalvageFlags>();
  command->add_option("DB", flags->database, "the damaged database's directory")->required();
  command
      ->add_option("DIR", flags->copy,
                   "the new database's directory, empty or absent; its log lies there, too")
      ->required();
  command->add_option("--log-directory", flags->log_directory, kLogDirectoryHelp);
  command->add_flag("--no-log", flags->no_log, "salvage without the log, if it is lost");
  command->add_flag("--json", flags->json, "one JSON object a line");
  command->add_flag(
      "--doubtful", flags->doubtful,
      "also copy rows that may be outdated, because nothing readable shows that their\n"
      "pages are in use");
  command->add_flag("--lost-trees", flags->lost_trees,
                    "copy records whose table's definition is lost into tables of bytes");
  command
      ->add_option(
          "--memory-mib", flags->memory_mib,
          "memory for the new database (default: 64), and as much for pages changed by the log")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U));
  command->footer(
      "A copied row is never made up: it was committed, is whole, and is in use. Only where the\n"
      "log is missing or damaged can a row be uncommitted; the report says so then.\n"
      "Exit codes: 0 everything is copied; 1 something is missing, and all else is copied; 2 "
      "usage;\n"
      "3 nothing is copied: in use, no database, its log elsewhere, DIR not empty, no space, ...;\n"
      "130 interrupted.");
  command->callback([flags, &chosen] {
    chosen = [flags](const load::MessagePlace& messages) {
      flags->messages = messages;
      return run(*flags);
    };
  });
}

}  // namespace palimpsest::tools
