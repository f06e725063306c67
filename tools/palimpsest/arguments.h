// Rules common to the command lines of all subcommands: a subcommand is named, and no value is
// empty. An empty value mostly comes from an unset shell variable: if it counted as "not given",
// the option's protection would be lost silently.
//
// Failure: CLI::ParseError, which names the error: the command exits with kUsage.
// Thread-safety: functions of values.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace palimpsest::tools {

/// The words after the program's name, the last one first, as CLI::App::parse() takes them. Refuses
/// `--option=`, which would take the next word as its value; `--null=` becomes two words.
[[nodiscard]] std::vector<std::string> words_of(int argc, const char* const* argv);

/// Throws if the first word is neither an option nor a subcommand; words as of words_of().
void require_subcommand(const CLI::App& app, const std::vector<std::string>& words);

/// From now on no option or argument of the subcommand takes an empty value, except --null: null
/// may be written as an empty text.
void forbid_empty_values(CLI::App& subcommand);

/// Makes `help`, and `help COMMAND`, the question with --help.
void ask_for_help(std::vector<std::string>& words);

/// A line that names the option that was perhaps meant by one that there is not; or nothing.
[[nodiscard]] std::string suggestion_for(const CLI::App& app, int argc, const char* const* argv);

}  // namespace palimpsest::tools
