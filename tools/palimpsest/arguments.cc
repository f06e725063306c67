#include "tools/palimpsest/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

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

/// How many letters are to be changed, left out or put in to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Empty if there is none that is near, or the word is one itself.
std::string nearest_option(const CLI::App& subcommand, std::string_view word) {
  constexpr std::size_t kNear = 3;
  std::string nearest;
  std::size_t least = kNear + 1;
  for (const CLI::Option* const option : subcommand.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t apart = distance(word, "--" + name);
      if (apart < least) {
        least = apart;
        nearest = "--" + name;
      }
    }
  }
  return least == 0 ? "" : nearest;
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

void ask_for_help(std::vector<std::string>& words) {
  if (words.empty() || words.back() != "help") {
    return;
  }
  words.pop_back();
  words.insert(words.begin(), "--help");
}

std::string suggestion_for(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2) {
    return "";
  }
  for (const CLI::App* const subcommand :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    for (int i = 2; subcommand->get_name() == argv[1] && i < argc; ++i) {
      std::string_view word = argv[i];
      word = word.substr(0, word.find('='));
      const std::string nearest = word.starts_with("--") ? nearest_option(*subcommand, word) : "";
      if (!nearest.empty()) {
        return fmt::format("There is no {}; did you mean {}?\n", word, nearest);
      }
    }
  }
  return "";
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
