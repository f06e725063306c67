#include "tools/palimpsest/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace palimpsest::tools {
namespace {

/// The option that may be empty.
constexpr std::string_view kNull = "null";
constexpr const char* kEmpty = "the value is empty";

/// `--option=` without a value.
bool has_empty_value(std::string_view word) {
  return word.starts_with("--") && word.find('=') == word.size() - 1;
}

std::string require_value(std::string& value) {
  return value.empty() ? kEmpty : "";
}

}  // namespace

std::vector<std::string> words_of(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool are_options = true;  // until a word says that none follow
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    are_options = are_options && word != "--";
    if (!are_options || !has_empty_value(word)) {
      words.push_back(std::move(word));
      continue;
    }
    word.pop_back();
    if (word.substr(2) != kNull) {
      throw CLI::ValidationError(word, kEmpty);
    }
    words.insert(words.end(), {std::move(word), ""});
  }
  std::ranges::reverse(words);
  return words;
}

void require_subcommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words.back().starts_with('-')) {
    return;
  }
  std::string names;
  for (const CLI::App* const subcommand :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    if (subcommand->get_name() == words.back()) {
      return;
    }
    names += (names.empty() ? "" : ", ") + subcommand->get_name();
  }
  throw CLI::ValidationError(fmt::format("there is no subcommand \"{}\"; {}", words.back(), names));
}

void forbid_empty_values(CLI::App& subcommand) {
  for (CLI::Option* const option : subcommand.get_options()) {
    if (option->get_items_expected_max() != 0 && !option->check_lname(std::string(kNull))) {
      option->check(CLI::Validator(require_value, ""));
    }
  }
}

}  // namespace palimpsest::tools
