// The `palimpsest` command: looks into databases, copies them, loads and dumps tables. The files
// beside this one have a subcommand each (command.h).
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/load/message.h"
#include "tools/palimpsest/arguments.h"
#include "tools/palimpsest/command.h"
#include "tools/palimpsest/log_flags.h"

namespace palimpsest::tools {

using load::tell;

namespace {

/// The exit code of the subcommand that the words name, or of --help or --version.
int act(CLI::App& app, int argc, const char* const* argv) {
  Action chosen;
  add_check_command(app, chosen);
  add_tables_command(app, chosen);
  add_stat_command(app, chosen);
  add_log_command(app, chosen);
  add_load_command(app, chosen);
  add_dump_command(app, chosen);
  add_backup_command(app, chosen);
  add_compact_command(app, chosen);
  add_salvage_command(app, chosen);
  LogFlags log;
  for (CLI::App* const subcommand : app.get_subcommands([](CLI::App*) { return true; })) {
    log.add_to(*subcommand);
    forbid_empty_values(*subcommand);
  }
  try {
    std::vector<std::string> words = words_of(argc, argv);
    ask_for_help(words);
    require_subcommand(app, words);
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    const bool is_answer = app.exit(error) == 0;  // help or the version was asked for
    tell(is_answer ? "" : suggestion_for(app, argc, argv));
    return is_answer ? kOk : kUsage;
  }
  return chosen(log.place());
}

int run(int argc, const char* const* argv) {
  CLI::App app("Inspects and copies Palimpsest databases; loads and dumps tables.", "palimpsest");
  app.require_subcommand(1);
  app.set_version_flag("--version", "palimpsest " PALIMPSEST_VERSION, "Print the version and exit");
  const int code = act(app, argc, argv);
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (code == kOk && !is_written) {  // other codes already report a failure
    tell("palimpsest: the output could not be written\n");
    return kFailed;
  }
  return code;
}

}  // namespace
}  // namespace palimpsest::tools

// Writing beyond a file size limit then fails with an error, instead of a signal.
int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return palimpsest::tools::run(argc, argv);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "palimpsest: %s\n", error.what());
    return palimpsest::tools::kFailed;
  }
}
