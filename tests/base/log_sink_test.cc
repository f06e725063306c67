// Messages as text, and the sinks that write lines.
#include "base/log_sink.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "palimpsest/error.h"

#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using test::error_of;
using test::run_in_child;
using test::TemporaryDirectory;
using testing::ElementsAre;
using testing::MatchesRegex;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string text_with(const LogValue& value) {
  const LogField field{.key = "k", .value = value};
  return text_of({.component = "part", .message = "m", .fields = {&field, 1}});
}

void say_at_each_level(const LogSink& sink) {
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    log_to(sink, level, "part", "said", {{"level", name_of(level)}});
  }
}

TEST(LogText, ShowsValuesOfEachType) {
  EXPECT_EQ(text_of({.component = "part", .message = "nothing more"}), "part: nothing more");
  EXPECT_EQ(text_with(true), "part: m k=true");
  EXPECT_EQ(text_with(std::int64_t{-7}), "part: m k=-7");
  EXPECT_EQ(text_with(std::numeric_limits<std::uint64_t>::max()), "part: m k=18446744073709551615");
  EXPECT_EQ(text_with(0.5), "part: m k=0.5");
  EXPECT_EQ(text_with("a/b_c-d.e:1+2"), "part: m k=a/b_c-d.e:1+2");
}

// A reader of lines is not deceived by a path or an error that contains a line end.
TEST(LogText, KeepsAMessageInOneLine) {
  EXPECT_EQ(text_with(""), "part: m k=\"\"");
  EXPECT_EQ(text_with("two words"), "part: m k=\"two words\"");
  EXPECT_EQ(text_with("a=b"), "part: m k=\"a=b\"");
  EXPECT_EQ(text_with("a\nb\x7f\t"), "part: m k=\"a\\x0ab\\x7f\\x09\"");
  EXPECT_EQ(text_with(R"(say "\")"), R"(part: m k="say \"\\\"")");
  EXPECT_EQ(text_with("ä"), "part: m k=\"ä\"");
}

TEST(LogText, LevelsHaveNames) {
  const std::array levels{LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error,
                          LogLevel::off};
  std::vector<std::string> names;
  for (const LogLevel level : levels) {
    names.emplace_back(name_of(level));
  }
  EXPECT_THAT(names, ElementsAre("debug", "info", "warning", "error", "off"));
  EXPECT_EQ(name_of(LogLevel{9}), "unknown");
}

TEST(LogTo, NoSinkIsNoError) {
  log_to({}, LogLevel::error, "part", "nobody listens");
}

TEST(LogTo, WhatTheSinkThrowsIsIgnored) {
  int calls = 0;
  const LogSink sink = [&](const LogMessage&) {
    ++calls;
    throw std::runtime_error("no room");
  };
  say_at_each_level(sink);
  EXPECT_EQ(calls, 4);
}

TEST(LogTo, PassesEverythingOn) {
  const LogSink sink = [](const LogMessage& message) {
    EXPECT_EQ(message.level, LogLevel::info);
    EXPECT_EQ(message.component, "part");
    EXPECT_EQ(message.message, "said");
    ASSERT_EQ(message.fields.size(), 2U);
    EXPECT_EQ(message.fields[1].key, "b");
    EXPECT_EQ(std::get<std::uint64_t>(message.fields[1].value), 2U);
  };
  log_to(sink, LogLevel::info, "part", "said", {{"a", std::uint64_t{1}}, {"b", std::uint64_t{2}}});
}

class WrittenLogTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(WrittenLogTest, StandardErrorGetsWarningsAndErrors) {
  const std::string path = directory_.path("stderr");
  ASSERT_EQ(run_in_child([&] {
              if (std::freopen(path.c_str(), "w", stderr) == nullptr) {
                return 1;
              }
              say_at_each_level(stderr_log_sink());
              return 0;
            }),
            0);
  EXPECT_THAT(lines_of(path), ElementsAre("palimpsest: warning: part: said level=warning",
                                          "palimpsest: error: part: said level=error"));
}

TEST_F(WrittenLogTest, TheLevelDecides) {
  const std::string path = directory_.path("log");
  say_at_each_level(file_log_sink(path, LogLevel::debug));
  EXPECT_EQ(lines_of(path).size(), 4U);
  say_at_each_level(file_log_sink(path, LogLevel::error));
  say_at_each_level(file_log_sink(path, LogLevel::off));
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 5U) << "it is appended";
  EXPECT_THAT(lines[1],
              MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} "
                           "[+-][0-9]{2}:[0-9]{2} palimpsest\\[[0-9]+\\]: info: part: said "
                           "level=info"));
}

TEST_F(WrittenLogTest, AFileThatCannotBeOpenedIsNamed) {
  const std::string path = directory_.path("file");
  std::ofstream(path) << "no directory";
  EXPECT_EQ(error_of([&] { return file_log_sink(path + "/log", LogLevel::info); },
                     "the log \"" + path + "/log\" cannot be opened"),
            ErrorCode::io_error);
}

// "%v" and braces in a path are neither a pattern nor a format.
TEST_F(WrittenLogTest, TextIsNoPattern) {
  const std::string path = directory_.path("log");
  log_to(file_log_sink(path, LogLevel::debug), LogLevel::info, "part", "{} %v %l",
         {{"path", "{0}%n"}});
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], testing::EndsWith("info: part: {} %v %l path=\"{0}%n\""));
}

}  // namespace
}  // namespace palimpsest
