// `palimpsest dump DB TABLE`: the rows of a table as text that `palimpsest load` reads.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "tools/load/dump.h"
#include "tools/load/interrupt.h"
#include "tools/load/message.h"
#include "tools/load/output_file.h"
#include "tools/load/output_place.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/dialect_flags.h"

namespace palimpsest::tools {

using load::tell;

namespace {

/// As "-" is standard input where files are read.
constexpr const char* kStandardOutput = "-";

struct DumpFlags {
  std::string directory{};
  std::string log_directory{};
  std::string table{};
  std::string output = kStandardOutput;
  DialectFlags dialect{};
  std::string header = "on";
  std::string columns{};
  bool schema = false;
};

void dump_rows(const DumpFlags& flags) {
  load::DumpOptions options{.database = {.pages = flags.directory, .log = flags.log_directory},
                            .table = flags.table,
                            .dialect = flags.dialect.dialect(flags.output),
                            .header = flags.header == "on",
                            .schema_only = flags.schema};
  if (!flags.columns.empty()) {
    options.columns = load::parse_names(flags.columns);
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

int run(const DumpFlags& flags) {
  const load::InterruptGuard guard;
  try {
    dump_rows(flags);
    return kOk;
  } catch (const load::UsageError& error) {
    tell(fmt::format("palimpsest dump: {}\n", error.what()));
    return kUsage;
  } catch (const load::Interrupted&) {
    tell("palimpsest dump: interrupted\n");
    return kInterrupted;
  } catch (const Error& error) {
    tell(fmt::format("palimpsest dump: {}: {}\n", name_of(error.code()), error.what()));
    return kFailed;
  }
}

}  // namespace

void add_dump_command(CLI::App& app, Action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "dump", "Writes a table's rows, in the order of their keys, as text that load reads.");
  const auto flags = std::make_shared<DumpFlags>();
  command->add_option("DB", flags->directory, "the database's directory")->required();
  command->add_option("TABLE", flags->table, "the table")->required();
  command->add_option("--log-directory", flags->log_directory, kLogDirectoryHelp);
  command->add_option("--output", flags->output,
                      "a file, in place of stdout (-): all of it, or as it was before");
  flags->dialect.add_to(*command);
  command
      ->add_flag("--header{on}", flags->header,
                 "the first line names the columns: on (default), or --header=off")
      ->check(CLI::IsMember({"on", "off"}));
  command->add_option("--columns", flags->columns, "only these, in this order: a, b");
  command->add_flag("--schema", flags->schema, "print the schema, as load takes it, and no rows");
  command->footer(
      "All rows are those of one moment. load --header reads what dump has written.\n"
      "Exit codes: 0 done; 1 failed; 2 usage; 130 interrupted.");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace palimpsest::tools
