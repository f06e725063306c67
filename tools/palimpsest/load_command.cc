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
#include "tools/load/directory_load.h"
#include "tools/load/interrupt.h"
#include "tools/load/load.h"
#include "tools/load/message.h"
#include "tools/load/parse_pipeline.h"
#include "tools/load/preview.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/dialect_flags.h"
#include "tools/palimpsest/explicit_command.h"
#include "tools/palimpsest/load_summary.h"

namespace palimpsest::tools {

using load::tell;

namespace {

struct LoadFlags {
  std::string directory{};
  std::string log_directory{};
  load::MessagePlace messages{};
  std::string table{};
  std::vector<std::string> files{};
  std::string from{};  ///< a directory that a database was dumped into
  DialectFlags dialect{};
  std::string schema{};
  std::string schema_file{};
  bool infer = false;
  std::string primary_key{};
  std::string row_id{};
  std::string sample{};
  bool preview = false;
  std::string header = "auto";
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
  bool json = false;

  [[nodiscard]] bool is_json() const { return json || summary == "json"; }
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
  if (header == "auto") {
    return load::Header::automatic;
  }
  return header == "on" ? load::Header::on : load::Header::off;
}

load::OnDuplicate on_duplicate_of(const std::string& text) {
  if (text == "skip") {
    return load::OnDuplicate::skip;
  }
  return text == "replace" ? load::OnDuplicate::replace : load::OnDuplicate::error;
}

/// 0: all.
std::uint64_t sample_bytes_of(const std::string& sample) {
  if (sample == "all") {
    return 0;
  }
  std::string text = sample;
  std::uint64_t bytes = 0;
  bool is_size = false;
  try {
    is_size = CLI::AsSizeValue(false)(text).empty() && CLI::detail::lexical_cast(text, bytes);
  } catch (const CLI::ValidationError&) {  // a unit that there is not
    is_size = false;
  }
  if (!is_size || bytes == 0) {
    throw load::UsageError(fmt::format("--sample is all, or a size as 64M: not \"{}\"", sample));
  }
  return bytes;
}

load::LoadOptions options_of(const LoadFlags& flags) {
  load::LoadOptions options{
      .database = {.pages = flags.directory,
                   .log = flags.log_directory,
                   .messages = flags.messages},
      .table = flags.table,
      .files = flags.files,
      .infer = flags.infer,
      .row_id = flags.row_id,
      .input = {.encoding = flags.dialect.encoding, .skip_lines = flags.dialect.skip_lines},
      .dialect = flags.dialect.dialect(flags.files.front()),
      .told = flags.dialect.told(),
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
  if (!flags.sample.empty()) {
    options.sample_bytes = sample_bytes_of(flags.sample);
  }
  if (!flags.row_id.empty() && !flags.primary_key.empty()) {
    throw load::UsageError("--row-id makes the primary key that --primary-key names");
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

/// Where the first bad record is that was not reported. A load that this one continues may have met
/// more.
std::string first_of(const load::LoadResult& result) {
  if (result.first_unshown.empty()) {
    return "";
  }
  return fmt::format(", the first{}: {}", result.resumed == 0 ? "" : " since it was resumed",
                     result.first_unshown);
}

/// What was found out, before the first row.
void show_findings(const load::LoadFindings& found) {
  if (!found.schema.empty()) {
    fmt::print("schema: {}\n", found.schema);
  }
  for (const std::string& note : found.notes) {
    fmt::print("note: {}\n", note);
  }
  if (found.options.header != load::Header::automatic) {
    fmt::print("command: {}\n", explicit_command(found.options, found.schema));
  }
  std::fflush(stdout);
}

void load_tables(const LoadFlags& flags, load::DirectoryCounters& counters) {
  if (!flags.table.empty() || !flags.files.empty()) {
    throw load::UsageError("--directory has the tables and their files: neither is named");
  }
  const load::DirectoryLoadOptions options{.database = {.pages = flags.directory,
                                                        .log = flags.log_directory,
                                                        .messages = flags.messages},
                                           .directory = flags.from,
                                           .threads = flags.threads,
                                           .memory_bytes = flags.memory_bytes,
                                           .resume = flags.resume,
                                           .checks_space = !flags.no_space_check};
  const bool is_shown = !flags.quiet || !flags.summary.empty() || flags.json;
  load::DirectoryLoadResult result;
  {
    const load::Progress progress(progress_of(flags), [&counters] { return counters.reached(); });
    result = load_directory(options, counters, [&](const load::DumpedTable& table, bool was_there) {
      if (is_shown) {
        show(flags.is_json() ? json_table(table, was_there) : text_table(table, was_there));
      }
    });
  }
  if (is_shown) {
    show(flags.is_json() ? json_summary(result) : text_summary(result));
  }
}

int load_rows(const LoadFlags& flags, load::Counters& counters) {
  if (flags.table.empty() || flags.files.empty()) {
    throw load::UsageError("TABLE and FILE are needed, or --directory DIR");
  }
  const load::LoadOptions options = options_of(flags);
  const bool is_json = flags.is_json();
  if (flags.preview) {
    const std::string text = load::run_preview(options, show_findings);
    show(text);
    return kOk;
  }
  const bool is_shown = !flags.quiet || !flags.summary.empty();
  load::LoadResult result;
  {
    const load::Progress progress(progress_of(flags), counters);
    result = run_load(options, counters, [&](const load::LoadFindings& found) {
      const bool matters = !found.schema.empty() || !found.notes.empty();
      if (is_shown && !is_json && matters) {
        show_findings(found);
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

/// Says it on stderr, and, if JSON is asked for, as an object on stdout.
int end_with(int code, const LoadFlags& flags, const std::string& status, const std::string& why) {
  tell(fmt::format("palimpsest load: {}\n", why));
  if (flags.is_json()) {
    fmt::print("{}", json_failure(status, flags.table, why, code));
    std::fflush(stdout);
  }
  return code;
}

/// The same of the tables of a directory.
std::string end_of(const load::DirectoryCounters& counters) {
  const std::uint64_t tables = counters.tables_there;
  switch (counters.commit.load()) {
    case load::CommitState::done: return "all tables were loaded before that";
    case load::CommitState::unknown:
      return "which tables were loaded is known when the database is opened again: --resume goes "
             "on with the others";
    case load::CommitState::none: break;
  }
  return tables == 0 ? "nothing was loaded"
                     : fmt::format("{} table{} there: --resume goes on with the others", tables,
                                   tables == 1 ? " is" : "s are");
}

int code_of(load::CommitState commit) {
  switch (commit) {
    case load::CommitState::done: return kLoaded;
    case load::CommitState::unknown: return kCommitUnknown;
    case load::CommitState::none: break;
  }
  return kFailed;
}

/// Calls load(), and says how it has ended: of Counters, or of DirectoryCounters.
template <class Counted, class Load>
int run_counted(const LoadFlags& flags, const Counted& counters, const Load& load) {
  const auto fail = [&](const std::string& status, std::string_view why) {
    return end_with(code_of(counters.commit), flags, status,
                    fmt::format("{}; {}", why, end_of(counters)));
  };
  try {
    return load();
  } catch (const load::UsageError& error) {
    return end_with(kUsage, flags, "usage", error.what());
  } catch (const load::Interrupted&) {
    return end_with(kInterrupted, flags, "interrupted",
                    fmt::format("interrupted; {}", end_of(counters)));
  } catch (const Error& error) {
    const std::string name(name_of(error.code()));
    return fail(name, fmt::format("{}: {}", name, error.what()));
  } catch (const std::exception& error) {  // memory has run out
    return fail("failed", error.what());
  }
}

int run(const LoadFlags& flags) {
  const load::InterruptGuard guard;
  load::keep_freed_memory();
  if (!flags.from.empty()) {
    load::DirectoryCounters counters;
    return run_counted(flags, counters, [&] {
      load_tables(flags, counters);
      return kOk;
    });
  }
  load::Counters counters;
  return run_counted(flags, counters, [&] { return load_rows(flags, counters); });
}

void add_input_flags(CLI::App& command, LoadFlags& flags) {
  command.add_option("DB", flags.directory, "the database's directory; made if it is not there")
      ->required();
  command.add_option("--log-directory", flags.log_directory, kLogDirectoryHelp);
  command.add_option("TABLE", flags.table, "made if it is not there");
  command.add_option("FILE", flags.files,
                     "read in this order, - is standard input; gzip, zstd, xz, bzip2 and zip are\n"
                     "recognised");
  command.add_option(
      "--directory", flags.from,
      "in place of TABLE and FILE: all tables that dump --directory has written there, some\n"
      "beside each other");
  auto* const schema = command.add_option(
      "--schema", flags.schema,
      "the new table: \"id int64 primary key, name varchar(40), amount decimal(12,2),\n"
      "day date null, index by_day (day)\"");
  auto* const file = command.add_option("--schema-file", flags.schema_file, "the same in a file");
  auto* const infer = command.add_flag(
      "--infer", flags.infer,
      "the table is new, and is chosen by the records: so it is where neither it is there nor\n"
      "a schema is given");
  schema->excludes(file)->excludes(infer);
  file->excludes(infer);
  command
      .add_option("--primary-key", flags.primary_key,
                  "the key's columns, of a table that is chosen: a, b")
      ->excludes(schema)
      ->excludes(file);
  command.add_option("--row-id", flags.row_id,
                     "a column of this name counts the rows, and is the primary key");
  command.add_option("--sample", flags.sample,
                     "how much of the first file a table is chosen by: 64M, or all (default: 2M)");
  command.add_flag("--preview", flags.preview,
                   "show what was found out, and the first values; load nothing");
  flags.dialect.add_to(command);
  flags.dialect.add_reading_to(command);
  command
      .add_flag("--header{on}", flags.header,
                "each file begins with a line that is no record; --header=match: it names the\n"
                "columns that its fields are; --header=off; found out by default (auto)")
      ->check(CLI::IsMember({"on", "off", "match", "auto"}));
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
  command.add_flag("--json", flags.json, "as --summary json: of every outcome, failures included");
}

}  // namespace

void add_load_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "load", "Loads files into a table: all rows, or, if any is bad, none (see --max-errors).");
  const auto flags = std::make_shared<LoadFlags>();
  add_input_flags(*command, *flags);
  add_outcome_flags(*command, *flags);
  command->footer(
      "Mostly wanted:\n"
      "  palimpsest load DB TABLE FILE              everything else is found out, and told\n"
      "  palimpsest load DB TABLE FILE --preview    what it would be, and the first values\n"
      "  palimpsest load DB TABLE FILE --schema 'id int64 primary key, name varchar(40)'\n"
      "Types: int8 int16 int32 int64 float double decimal(p,s) bool date timestamp char(n)\n"
      "varchar varchar(n) bytes bytes(n); \"null\" behind a type allows null; \"primary key\", or\n"
      "\"primary key (a, b)\"; \"index name (c)\", \"unique index name (c)\".\n"
      "A load is one transaction, of any size: all of its rows are there after it, or none.\n"
      "Exit codes: 0 done; 1 failed; 2 usage; 3 too many bad records; 4 loaded, but then failed;\n"
      "5 the commit failed, the database when opened again tells if it counts; 130 interrupted.");
  command->callback([flags, &chosen] {
    chosen = [flags](const load::MessagePlace& messages) {
      flags->messages = messages;
      return run(*flags);
    };
  });
}

}  // namespace palimpsest::tools
