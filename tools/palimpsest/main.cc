// The `palimpsest` command: looks into databases, loads and dumps tables. What it can do is in the
// files beside this one, a subcommand each (command.h).
#include <cstdio>
#include <exception>

#include "tools/load/message.h"
#include "tools/palimpsest/command.h"

namespace palimpsest::tools {

using load::tell;

namespace {

int run(int argc, char** argv) {
  CLI::App app("Looks into Palimpsest databases; loads and dumps tables.", "palimpsest");
  app.require_subcommand(1);
  Action chosen;
  add_check_command(app, chosen);
  add_log_command(app, chosen);
  add_load_command(app, chosen);
  add_dump_command(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;  // 0: help was asked for
  }
  const int code = chosen();
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (code == kOk && !is_written) {  // other codes say that something is wrong already
    tell("palimpsest: the output could not be written\n");
    return kFailed;
  }
  return code;
}

}  // namespace
}  // namespace palimpsest::tools

int main(int argc, char** argv) {
  try {
    return palimpsest::tools::run(argc, argv);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "palimpsest: %s\n", error.what());
    return palimpsest::tools::kFailed;
  }
}
