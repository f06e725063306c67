// Empty values of options, and unknown subcommands.
#include "tools/palimpsest/arguments.h"

#include <gmock/gmock.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace palimpsest::tools {
namespace {

using ::testing::HasSubstr;

/// The error of a "palimpsest" command line, or its output.
std::string parsed(std::initializer_list<const char*> words) {
  CLI::App app("", "palimpsest");
  CLI::App* const copy = app.add_subcommand("copy");
  app.add_subcommand("move");
  std::string output;
  std::string null;
  std::vector<std::string> files;
  copy->add_option("--output", output);
  copy->add_option("--null", null);
  copy->add_option("FILE", files);
  forbid_empty_values(*copy);
  std::vector<const char*> line{"palimpsest"};
  line.insert(line.end(), words);
  try {
    std::vector<std::string> reversed = words_of(static_cast<int>(line.size()), line.data());
    require_subcommand(app, reversed);
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  std::string said = output + "|" + null;
  for (const std::string& file : files) {
    said += "|" + file;
  }
  return said;
}

TEST(ArgumentsTest, ValuesThatAreThere) {
  EXPECT_EQ(parsed({"copy", "--output", "a", "--null=b", "c", "d"}), "a|b|c|d");
  EXPECT_EQ(parsed({"copy", "--output=a=", "c"}), "a=||c");
  EXPECT_EQ(parsed({"copy", "--", "--output="}), "||--output=");
}

TEST(ArgumentsTest, EmptyValues) {
  EXPECT_EQ(parsed({"copy", "--output", "", "c"}), "--output: the value is empty");
  EXPECT_EQ(parsed({"copy", "--output=", "c"}), "--output: the value is empty");
  EXPECT_EQ(parsed({"copy", "c", ""}), "FILE: the value is empty");
}

TEST(ArgumentsTest, NullMayBeEmpty) {
  EXPECT_EQ(parsed({"copy", "--null", "", "c"}), "||c");
  EXPECT_EQ(parsed({"copy", "--null=", "c"}), "||c");
}

TEST(ArgumentsTest, Subcommands) {
  EXPECT_EQ(parsed({"cpoy"}), "there is no subcommand \"cpoy\"; copy, move");
  EXPECT_EQ(parsed({""}), "there is no subcommand \"\"; copy, move");
  EXPECT_THAT(parsed({"--copy"}), HasSubstr("--copy"));
}

}  // namespace
}  // namespace palimpsest::tools
