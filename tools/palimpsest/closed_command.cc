#include "tools/palimpsest/closed_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tools/load/message.h"

namespace palimpsest::tools {

void add_closed_options(CLI::App& command, ClosedOptions& options) {
  command.add_option("DB", options.directory, "the database's directory")->required();
  command.add_option("--log-directory", options.log_directory, kLogDirectoryHelp);
  command.add_flag("--json", options.json, "one JSON object a line");
  command.add_option("--memory-mib", options.memory_mib, "memory for pages (default: 64)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U));
}

int look_at(const char* command, const ClosedOptions& options,
            const std::function<int(ClosedFiles&)>& look) {
  try {
    ClosedFiles files(options);
    tell_if_recovered(files.view(), command);
    return look(files);
  } catch (const Error& error) {
    if (options.json) {
      const nlohmann::ordered_json line = {
          {"kind", "error"}, {"code", name_of(error.code())}, {"message", error.what()}};
      print(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    }
    tell_problem(command, error.code(), error.what());
    return is_refusal(error.code()) ? kCannotCheck : kFailed;
  }
}

void tell_problem(const char* command, ErrorCode code, std::string_view what) {
  std::fflush(stdout);
  load::tell(fmt::format("palimpsest {}: {}: {}\n", command, name_of(code), what));
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw std::system_error(errno, std::generic_category(), "the output could not be written");
  }
}

}  // namespace palimpsest::tools
