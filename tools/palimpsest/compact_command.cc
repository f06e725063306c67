// `palimpsest compact DB`: makes the page file as short as its used pages allow.
//
// A program that has the database open does it itself, by Database::compact().
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "palimpsest/compaction.h"
#include "palimpsest/error.h"

#include "tools/load/database_place.h"
#include "tools/load/interrupt.h"
#include "tools/load/message.h"
#include "tools/load/progress.h"
#include "tools/palimpsest/command.h"

namespace palimpsest::tools {

using load::tell;

namespace {

constexpr double kBytesPerMegabyte = 1e6;

struct CompactFlags {
  std::string database{};
  std::string log_directory{};
  load::MessagePlace messages{};
};

Database open_to_compact(const load::DatabasePlace& place) {
  try {
    return load::open_database(place, {.create_if_missing = false});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::locked) {
      throw;
    }
    throw Error(
        error.code(),
        fmt::format("{}; the program that has it open can compact it with Database::compact()",
                    error.what()));
  }
}

CompactionReport compact_showing_progress(Database& database) {
  load::Counters counters;
  counters.phase = load::Phase::copying;
  const load::Progress shown(
      isatty(STDERR_FILENO) == 1 ? load::ProgressMode::bar : load::ProgressMode::none, counters);
  return database.compact({.progress = [&](const CompactionProgress& now) {
    load::stop_if_interrupted();
    counters.bytes_taken = now.pages_moved * now.page_bytes;
    counters.bytes_total = now.pages_total * now.page_bytes;
  }});
}

void show(const CompactFlags& flags, const CompactionReport& report) {
  const auto megabytes = [](std::uint64_t bytes) {
    return static_cast<double>(bytes) / kBytesPerMegabyte;
  };
  const std::chrono::duration<double> seconds = report.duration;
  fmt::print(
      "{}: {:.1f} MB of pages before, {:.1f} MB now, {:.1f} MB in use; {} pages moved, in "
      "{:.2f} s\n",
      flags.database, megabytes(report.bytes_before), megabytes(report.bytes_after),
      megabytes(report.bytes_in_use), report.pages_moved, seconds.count());
  if (report.pages_unmoved != 0) {
    fmt::print("{} pages that could not be moved keep the file from being shorter\n",
               report.pages_unmoved);
  }
}

int run(const CompactFlags& flags) {
  const load::InterruptGuard guard;
  try {
    Database database = open_to_compact(
        {.pages = flags.database, .log = flags.log_directory, .messages = flags.messages});
    const CompactionReport report = compact_showing_progress(database);
    database.close();
    show(flags, report);
    return kOk;
  } catch (const load::Interrupted&) {
    tell("palimpsest compact: interrupted; pages that were moved stay moved\n");
    return kInterrupted;
  } catch (const Error& error) {
    tell(fmt::format("palimpsest compact: {}: {}\n", name_of(error.code()), error.what()));
    return kFailed;
  }
}

}  // namespace

void add_compact_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "compact", "Makes the page file of a database as short as its contents allow.");
  const auto flags = std::make_shared<CompactFlags>();
  command->add_option("DB", flags->database, "the database's directory")->required();
  command->add_option("--log-directory", flags->log_directory, kLogDirectoryHelp);
  command->footer(
      "Moves pages from the end of the file to free places before it, pages of large values too,\n"
      "and cuts off the end. A program that has a database open can compact it while using it,\n"
      "with Database::compact().\n"
      "Exit codes: 0 done; 1 failed; 2 usage; 130 interrupted: pages that were moved stay moved.");
  command->callback([flags, &chosen] {
    chosen = [flags](const load::MessagePlace& messages) {
      flags->messages = messages;
      return run(*flags);
    };
  });
}

}  // namespace palimpsest::tools
