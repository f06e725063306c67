// `palimpsest dump DB TABLE`: the rows of a table as text that `palimpsest load` reads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/directory_dump.h"
#include "tools/load/dump.h"
#include "tools/load/interrupt.h"
#include "tools/load/message.h"
#include "tools/load/output_file.h"
#include "tools/load/output_place.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/dialect_flags.h"
#include "tools/palimpsest/load_summary.h"

namespace palimpsest::tools {

using load::tell;

namespace {

/// As "-" is standard input where files are read.
constexpr const char* kStandardOutput = "-";

struct DumpFlags {
  std::string directory{};
  std::string log_directory{};
  std::vector<std::string> tables{};
  std::string output = kStandardOutput;
  std::string into{};
  DialectFlags dialect{};
  std::string compress{};
  std::string header = "on";
  std::string columns{};
  std::string keys{};
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 0;
  bool schema = false;
  bool resume = false;
  bool json = false;
  load::MessagePlace messages{};

  [[nodiscard]] std::size_t threads_in_effect() const {
    return threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1U);
  }
  [[nodiscard]] load::DatabasePlace database() const {
    return {.pages = directory, .log = log_directory, .messages = messages};
  }
};

/// What people may take for a format, and is none that is written.
void require_written_format(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension().string();
  for (const std::string_view other :
       {".parquet", ".xlsx", ".xls", ".ods", ".arrow", ".feather", ".db", ".sqlite"}) {
    if (ending == other) {
      throw load::UsageError(fmt::format(
          "{}: dump writes csv, tsv, tbl, jsonl and json; --format says which, whatever the name",
          output));
    }
  }
}

/// "-" says nothing of it.
load::Compression compression_of(const DumpFlags& flags, const std::string& output) {
  if (!flags.compress.empty()) {
    return load::compression_of_name(flags.compress).value_or(load::Compression::none);
  }
  return load::compression_of_path(output);
}

void dump_table(const DumpFlags& flags) {
  if (flags.dialect.format.empty()) {
    require_written_format(flags.output);
  }
  load::DumpOptions options{.database = flags.database(),
                            .memory_bytes = flags.memory_bytes,
                            .table = flags.tables.front(),
                            .text = {.dialect = flags.dialect.dialect(flags.output),
                                     .header = flags.header == "on",
                                     .keys = flags.keys,
                                     .compression = compression_of(flags, flags.output)},
                            .threads = flags.threads_in_effect(),
                            .schema_only = flags.schema};
  if (flags.dialect.null_texts.size() > 1) {
    throw load::UsageError("null is written as one text: --null once");
  }
  if (!flags.columns.empty()) {
    options.text.columns = load::parse_names(flags.columns);
  }
  if (flags.output == kStandardOutput) {
    run_dump(options, [] { return stdout; });
    return;
  }
  load::require_outside(flags.output, options.database.pages);
  load::require_outside(flags.output, options.database.log);
  options.output = flags.output;
  load::OutputFile file(flags.output);
  run_dump(options, [&file] { return file.begin(); });
  file.complete();
}

void dump_tables(const DumpFlags& flags) {
  const bool has_others = flags.output != kStandardOutput || !flags.columns.empty() ||
                          !flags.keys.empty() || flags.schema || flags.header != "on";
  if (has_others) {
    throw load::UsageError(
        "--directory takes whole tables: --output, --columns, --where-key, --schema and --header "
        "are of one table");
  }
  const load::DirectoryDumpOptions options{
      .database = flags.database(),
      .directory = flags.into,
      .tables = flags.tables,
      .format = load::format_of_name(flags.dialect.format).value_or(load::Format::csv),
      .compression = compression_of(flags, kStandardOutput),
      .memory_bytes = flags.memory_bytes,
      .threads = flags.threads_in_effect(),
      .resume = flags.resume};
  dump_directory(options, [&](const load::DumpedTable& table) {
    if (!flags.json) {
      fmt::print("{}: {} rows\n", table.file, table.rows);
    }
  });
}

void dump_rows(const DumpFlags& flags) {
  if (!flags.into.empty()) {
    dump_tables(flags);
  } else if (flags.tables.size() == 1) {
    dump_table(flags);
  } else {
    throw load::UsageError("one TABLE, or --directory DIR for some or all of them");
  }
}

/// Says it on stderr, and, if JSON is asked for, as an object there.
int end_with(int code, const DumpFlags& flags, const std::string& status, const std::string& why) {
  if (flags.json) {
    tell(json_failure(status, flags.tables.empty() ? "" : flags.tables.front(), why, code));
  } else {
    tell(fmt::format("palimpsest dump: {}\n", why));
  }
  return code;
}

int run(const DumpFlags& flags) {
  const load::InterruptGuard guard;
  try {
    dump_rows(flags);
    return kOk;
  } catch (const load::UsageError& error) {
    return end_with(kUsage, flags, "usage", error.what());
  } catch (const load::Interrupted&) {
    return end_with(kInterrupted, flags, "interrupted", "interrupted");
  } catch (const Error& error) {
    const std::string name(name_of(error.code()));
    return end_with(kFailed, flags, name, fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace

void add_dump_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "dump", "Writes a table's rows, in the order of their keys, as text that load reads.");
  const auto flags = std::make_shared<DumpFlags>();
  command->add_option("DB", flags->directory, "the database's directory")->required();
  command->add_option("TABLE", flags->tables, "the table; with --directory some, or none for all");
  command->add_option("--log-directory", flags->log_directory, kLogDirectoryHelp);
  command->add_option(
      "--output", flags->output,
      "a file, in place of stdout (-): all of it, or as it was before; x.csv.gz and\n"
      "x.csv.zst are compressed");
  auto* const into = command->add_option(
      "--directory", flags->into,
      "a file for each table goes there, and a list of them: load --directory reads it");
  flags->dialect.add_to(*command);
  command
      ->add_option("--compress", flags->compress,
                   "none, gzip or zstd (default: by --output's name)")
      ->check(CLI::IsMember({"none", "gzip", "zstd"}));
  command
      ->add_flag("--header{on}", flags->header,
                 "the first line names the columns: on (default), or --header=off")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--columns", flags->columns, "only these, in this order: a, b");
  command->add_option("--where-key", flags->keys,
                      "only keys from A to B, both included: A..B, A.. or ..B; of keys of several\n"
                      "columns 7,a..7,b");
  command->add_flag("--schema", flags->schema, "print the schema, as load takes it, and no rows");
  command
      ->add_option("--memory", flags->memory_bytes,
                   "that the process takes, about: 64M, 4G (default: 256M)")
      ->transform(CLI::AsSizeValue(false));
  command
      ->add_option("--threads", flags->threads,
                   "that make text of rows; with --directory: tables at a\n"
                   "time (default: one a processor)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{256}));
  command
      ->add_flag("--resume", flags->resume,
                 "with --directory: tables that an interrupted dump has completed stay")
      ->needs(into);
  command->add_flag("--json", flags->json, "failures as an object on stderr");
  command->footer(
      "Mostly wanted:\n"
      "  palimpsest dump DB TABLE --output table.csv\n"
      "  palimpsest dump DB TABLE --output table.jsonl.zst\n"
      "  palimpsest dump DB --directory DIR --compress zstd\n"
      "All rows are those of one moment. load reads what dump has written.\n"
      "Exit codes: 0 done; 1 failed; 2 usage; 130 interrupted.");
  command->callback([flags, &chosen] {
    chosen = [flags](const load::MessagePlace& messages) {
      flags->messages = messages;
      return run(*flags);
    };
  });
}

}  // namespace palimpsest::tools
