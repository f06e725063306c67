// `palimpsest load DB TABLE FILE...`: rows from files into a table, all of them or none.
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/byte_source.h"
#include "tools/load/interrupt.h"
#include "tools/load/load.h"
#include "tools/load/message.h"
#include "tools/load/parse_pipeline.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/dialect_flags.h"
#include "tools/palimpsest/load_summary.h"

namespace palimpsest::tools {

using load::tell;

namespace {

struct LoadFlags {
  std::string directory{};
  std::string log_directory{};
  std::string table{};
  std::vector<std::string> files{};
  DialectFlags dialect{};
  std::string schema{};
  std::string schema_file{};
  bool infer = false;
  std::string primary_key{};
  std::string header = "off";
  std::string columns{};
  std::string max_errors = "0";
  std::string reject_file{};
  std::string reject_log{};
  std::string on_duplicate = "error";
  std::size_t threads = 0;
  std::uint64_t memory_bytes = 0;
  bool dry_run = false;
  bool resume = false;
  bool no_space_check = false;
  bool quiet = false;
  std::string progress = "auto";
  std::string summary{};
};

std::string text_of_file(const std::string& path) {
  constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
  std::atomic<std::uint64_t> taken = 0;
  const auto source = load::ByteSource::open(path, taken);
  std::string text;
  for (std::size_t read = kPieceBytes; read == kPieceBytes;) {
    text.resize(text.size() + kPieceBytes);
    read = source->read(std::span(text).last(kPieceBytes));
    text.resize(text.size() - kPieceBytes + read);
  }
  return text;
}

load::ProgressMode progress_of(const LoadFlags& flags) {
  if (flags.quiet || flags.progress == "none") {
    return load::ProgressMode::none;
  }
  if (flags.progress == "json") {
    return load::ProgressMode::json;
  }
  if (flags.progress == "bar") {
    return load::ProgressMode::bar;
  }
  return flags.progress == "lines" ? load::ProgressMode::lines : load::ProgressMode::automatic;
}

load::Header header_of(const std::string& header) {
  if (header == "match") {
    return load::Header::match;
  }
  return header == "on" ? load::Header::on : load::Header::off;
}

load::OnDuplicate on_duplicate_of(const std::string& text) {
  if (text == "skip") {
    return load::OnDuplicate::skip;
  }
  return text == "replace" ? load::OnDuplicate::replace : load::OnDuplicate::error;
}

load::LoadOptions options_of(const LoadFlags& flags) {
  load::LoadOptions options{.database = {.pages = flags.directory, .log = flags.log_directory},
                            .table = flags.table,
                            .files = flags.files,
                            .infer = flags.infer,
                            .dialect = flags.dialect.dialect(flags.files.front()),
                            .header = header_of(flags.header),
                            .on_duplicate = on_duplicate_of(flags.on_duplicate),
                            .dry_run = flags.dry_run,
                            .resume = flags.resume,
                            .checks_space = !flags.no_space_check,
                            .threads = flags.threads,
                            .memory_bytes = flags.memory_bytes};
  if (!flags.schema.empty()) {
    options.schema = flags.schema;
  } else if (!flags.schema_file.empty()) {
    options.schema = text_of_file(flags.schema_file);
  }
  if (!flags.columns.empty()) {
    options.columns = load::parse_names(flags.columns);
  }
  if (!flags.primary_key.empty()) {
    options.primary_key = load::parse_names(flags.primary_key);
  }
  const auto limit = load::FaultLimit::parse(flags.max_errors);
  if (!limit) {
    throw load::UsageError("--max-errors is a number, or 0 to 100 and a %");
  }
  options.faults.limit = *limit;
  options.faults.reject_file = flags.reject_file;
  options.faults.reject_log = flags.reject_log;
  options.faults.shown_max = flags.quiet ? 0 : options.faults.shown_max;
  return options;
}

/// At once: if it cannot be, the exit code says that the rows are loaded nevertheless.
void show(const std::string& summary) {
  fmt::print("{}", summary);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error(ErrorCode::io_error, "the summary cannot be written");
  }
}

/// Of bad records that nobody has been told of, at the end of what is said of them. Others may have
/// been met by a load that this one goes on with.
std::string first_of(const load::LoadResult& result) {
  if (result.first_unshown.empty()) {
    return "";
  }
  return fmt::format(", the first{}: {}", result.resumed == 0 ? "" : " since it was resumed",
                     result.first_unshown);
}

int load_rows(const LoadFlags& flags, load::Counters& counters) {
  const load::LoadOptions options = options_of(flags);
  const bool is_json = flags.summary == "json";
  const bool is_shown = !flags.quiet || !flags.summary.empty();
  load::LoadResult result;
  {
    const load::Progress progress(progress_of(flags), counters);
    result = run_load(options, counters, [&](const std::string& schema) {
      if (is_shown && !is_json) {
        fmt::print("schema: {}\n", schema);
        std::fflush(stdout);
      }
    });
  }
  if (is_shown) {
    show(is_json ? json_summary(options, result) : text_summary(options, result));
  }
  if (result.too_many_faults) {
    tell(fmt::format("palimpsest: too many bad records: {}{}; nothing was loaded\n", result.faults,
                     first_of(result)));
    return kTooManyFaults;
  }
  return kOk;
}

/// What a load has come to that has failed, at the end of a message.
std::string end_of(const load::Counters& counters) {
  if (counters.commit == load::CommitState::done) {
    return "all rows were loaded before that";
  }
  const std::string rows =
      counters.commit == load::CommitState::none
          ? "nothing was loaded"
          : "whether all rows were loaded or none is known when the database is opened again";
  const std::uint64_t kept = counters.rows_kept;
  return kept == 0 ? rows
                   : fmt::format(
                         "{}, {} sorted rows are kept: --resume goes on with them, a load without "
                         "it removes them",
                         rows, kept);
}

int fail(const std::string& why, const load::Counters& counters) {
  tell(fmt::format("palimpsest load: {}; {}\n", why, end_of(counters)));
  switch (counters.commit.load()) {
    case load::CommitState::done: return kLoaded;
    case load::CommitState::unknown: return kCommitUnknown;
    case load::CommitState::none: break;
  }
  return kFailed;
}

int run(const LoadFlags& flags) {
  const load::InterruptGuard guard;
  load::keep_freed_memory();
  load::Counters counters;
  try {
    return load_rows(flags, counters);
  } catch (const load::UsageError& error) {
    tell(fmt::format("palimpsest load: {}\n", error.what()));
    return kUsage;
  } catch (const load::Interrupted&) {
    tell(fmt::format("palimpsest load: interrupted; {}\n", end_of(counters)));
    return kInterrupted;
  } catch (const Error& error) {
    return fail(fmt::format("{}: {}", name_of(error.code()), error.what()), counters);
  } catch (const std::exception& error) {  // memory has run out
    return fail(error.what(), counters);
  }
}

void add_input_flags(CLI::App& command, LoadFlags& flags) {
  command.add_option("DB", flags.directory, "the database's directory; made if it is not there")
      ->required();
  command.add_option("--log-directory", flags.log_directory, kLogDirectoryHelp);
  command.add_option("TABLE", flags.table, "made if it is not there")->required();
  command
      .add_option("FILE", flags.files,
                  "read in this order, - is standard input; gzip and zstd are recognised")
      ->required();
  auto* const schema = command.add_option(
      "--schema", flags.schema,
      "the new table: \"id int64 primary key, name varchar(40), amount decimal(12,2),\n"
      "day date null, index by_day (day)\"");
  auto* const file = command.add_option("--schema-file", flags.schema_file, "the same in a file");
  auto* const infer = command.add_flag(
      "--infer", flags.infer, "choose the new table by the first records, and print its schema");
  schema->excludes(file)->excludes(infer);
  file->excludes(infer);
  command.add_option("--primary-key", flags.primary_key, "with --infer: its columns")->needs(infer);
  flags.dialect.add_to(command);
  flags.dialect.add_reading_to(command);
  command
      .add_flag("--header{on}", flags.header,
                "each file begins with a line that is no record; --header=match: it names the\n"
                "columns that its fields are; --header=off (default)")
      ->check(CLI::IsMember({"on", "off", "match"}));
  command.add_option("--columns", flags.columns,
                     "the columns that fields are, as in a, b; - for a field that is not loaded;\n"
                     "columns that are not named are null");
}

void add_outcome_flags(CLI::App& command, LoadFlags& flags) {
  command.add_option("--max-errors", flags.max_errors,
                     "go on with so many bad records, or N% of all (default: 0)");
  command.add_option("--reject-file", flags.reject_file,
                     "bad records go there as they are, to be loaded again");
  command.add_option("--reject-log", flags.reject_log, "messages about bad records go there");
  command
      .add_option("--on-duplicate", flags.on_duplicate,
                  "a row whose key is there: error (default), skip, or replace the one there")
      ->check(CLI::IsMember({"error", "skip", "replace"}));
  auto* const dry_run = command.add_flag("--dry-run", flags.dry_run,
                                         "read and judge everything but duplicates; write nothing");
  command
      .add_flag("--resume", flags.resume,
                "sort all rows, and keep them sorted while the load runs; go on with those of the\n"
                "same load if it was killed")
      ->excludes(dry_run);
  command.add_flag("--no-space-check", flags.no_space_check,
                   "begin to sort rows even if the disk seems to have no room for them");
  command.add_option("--threads", flags.threads, "that parse (default: one a processor)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{256}));
  command
      .add_option("--memory", flags.memory_bytes,
                  "that the process takes, about: 512M, 4G (default: as any database)")
      ->transform(CLI::AsSizeValue(false));
  command.add_flag("--quiet", flags.quiet,
                   "no progress, no messages about records, no summary unless --summary asks");
  command.add_option("--progress", flags.progress, "auto (default), bar, lines, json, none")
      ->check(CLI::IsMember({"auto", "bar", "lines", "json", "none"}));
  command.add_option("--summary", flags.summary, "text (default) or json, on stdout")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace

void add_load_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "load", "Loads files into a table: all rows, or, if any is bad, none (see --max-errors).");
  const auto flags = std::make_shared<LoadFlags>();
  add_input_flags(*command, *flags);
  add_outcome_flags(*command, *flags);
  command->footer(
      "Types: int8 int16 int32 int64 float double decimal(p,s) bool date timestamp char(n)\n"
      "varchar varchar(n) bytes bytes(n); \"null\" behind a type allows null; \"primary key\", or\n"
      "\"primary key (a, b)\"; \"index name (c)\", \"unique index name (c)\".\n"
      "A load is one transaction, of any size: all of its rows are there after it, or none.\n"
      "Exit codes: 0 done; 1 failed; 2 usage; 3 too many bad records; 4 loaded, but then failed;\n"
      "5 the commit failed, the database when opened again tells if it counts; 130 interrupted.");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace palimpsest::tools
