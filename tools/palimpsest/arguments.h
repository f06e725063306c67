// What the command lines of all subcommands have in common: a subcommand is named, and a value that
// is given is not empty. An empty one is mostly a variable of a shell that is not set: taken for an
// option that is not given, it would lose what the option was to keep.
//
// Failure: CLI::ParseError, which names what is wrong: the command exits with kUsage.
// Thread-safety: functions of values.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace palimpsest::tools {

/// The words behind the program's name, the last one first, as CLI::App::parse() takes them.
/// `--option=`, for whose value that would take the next word, is refused; `--null=` is two words.
[[nodiscard]] std::vector<std::string> words_of(int argc, const char* const* argv);

/// Throws if the first word is neither an option nor a subcommand; words as of words_of().
void require_subcommand(const CLI::App& app, const std::vector<std::string>& words);

/// From now on no option of the subcommand takes an empty value, nor does an argument without an
/// option, but for --null: an empty text may be what null is written as.
void forbid_empty_values(CLI::App& subcommand);

}  // namespace palimpsest::tools
