// Limits for bad records, and the files that collect them.
#include "tools/load/fault_report.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::load {
namespace {

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Fault fault(FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  fault.at = {.file = "a.csv", .line = 7, .column = 3, .byte = 120};
  fault.column = "age";
  fault.reason = "why";
  fault.shown = in_quotes("x\"\ty");
  return fault;
}

TEST(FaultReportTest, Texts) {
  EXPECT_EQ(fault(FaultKind::type).text(),
            "a.csv:7:3 (byte 120), column \"age\": type error: why: \"x\\\"\\x09y\"");
  EXPECT_EQ(in_quotes("gr\xC3\xBC\xC3\x9F \xC3 \xC2\x85"),
            "\"gr\xC3\xBC\xC3\x9F \\xC3 \\xC2\\x85\"");
  EXPECT_EQ(in_quotes(std::string(1000, 'a')), "\"" + std::string(80, 'a') + "\"... of 1000 bytes");
}

TEST(FaultReportTest, Limits) {
  const auto count = FaultLimit::parse("12");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->count, 12U);
  const auto percent = FaultLimit::parse("0.5%");
  ASSERT_TRUE(percent && percent->percent);
  EXPECT_EQ(*percent->percent, 0.5);
  for (const char* text : {"", "%", "x", "-1", "1.5", "101%", "-1%", "nan%", "1 %"}) {
    EXPECT_FALSE(FaultLimit::parse(text)) << text;
  }
}

// In a resumed load, the earlier load has already shown as many faults as may be shown.
TEST(FaultReportTest, TheFirstOneIsKnownIfNoneIsShown) {
  const SavedFaults saved{.by_kind = {20, 0, 0, 0, 0}};
  FaultReport quiet({.shown_max = 0});
  FaultReport resumed({}, &saved);
  FaultReport shown({.shown_max = 1});
  Fault second = fault(FaultKind::null);
  second.at.line = 8;
  for (FaultReport* const report : {&quiet, &resumed, &shown}) {
    EXPECT_EQ(report->first_unshown(), "");
    report->add(fault(FaultKind::type), "a,b");
    report->add(second, "c,d");
    EXPECT_EQ(report->first_unshown(), report == &shown ? "" : fault(FaultKind::type).text());
  }
}

TEST(FaultReportTest, CountsAndWrites) {
  const palimpsest::test::TemporaryDirectory directory;
  const std::string rows = directory.path("rows");
  const std::string log = directory.path("log");
  FaultReport report(
      {.limit = {.count = 1}, .reject_file = rows, .reject_log = log, .shown_max = 0});
  report.add(fault(FaultKind::type), "a,b\r\n", "h\n");
  EXPECT_FALSE(report.is_over());
  report.add(fault(FaultKind::duplicate), "c,d", "h\n");
  EXPECT_TRUE(report.is_over());
  report.finish();
  EXPECT_EQ(text_of(rows), "h\na,b\r\nc,d\n");
  EXPECT_EQ(text_of(log),
            fault(FaultKind::type).text() + "\n" + fault(FaultKind::duplicate).text() + "\n");
  EXPECT_EQ(report.count(), 2U);
  EXPECT_EQ(report.count(FaultKind::type), 1U);
  EXPECT_EQ(report.count(FaultKind::range), 0U);
}

TEST(FaultReportTest, RecordsBelowAnotherHeaderHaveAFileOfTheirOwn) {
  const palimpsest::test::TemporaryDirectory directory;
  FaultReport report(
      {.limit = {.count = 9}, .reject_file = directory.path("bad.csv"), .shown_max = 0});
  report.add(fault(FaultKind::type), "1,x,2\n", "id,a,b\n");
  report.add(fault(FaultKind::type), "2,x,3\n", "id,b,a\n");
  report.add(fault(FaultKind::type), "3,x,4", "id,a,b\n");
  report.finish();
  EXPECT_EQ(text_of(directory.path("bad.csv")), "id,a,b\n1,x,2\n3,x,4\n");
  EXPECT_EQ(text_of(directory.path("bad-2.csv")), "id,b,a\n2,x,3\n");
}

TEST(FaultReportTest, GoesOnWhereAnotherWasSaved) {
  const palimpsest::test::TemporaryDirectory directory;
  const FaultReportOptions options{.limit = {.count = 9},
                                   .reject_file = directory.path("rows"),
                                   .reject_log = directory.path("log"),
                                   .shown_max = 0};
  SavedFaults saved;
  {
    FaultReport report(options);
    report.add(fault(FaultKind::type), "a,b\n", "h\n");
    saved = report.save();
    report.add(fault(FaultKind::null), "not saved\n", "h\n");
  }
  FaultReport report(options, &saved);
  EXPECT_EQ(report.count(), 1U);
  report.add(fault(FaultKind::range), "c,d\n", "h\n");
  report.finish();
  EXPECT_EQ(text_of(options.reject_file), "h\na,b\nc,d\n");
  EXPECT_EQ(text_of(options.reject_log),
            fault(FaultKind::type).text() + "\n" + fault(FaultKind::range).text() + "\n");
  EXPECT_EQ(report.count(FaultKind::null), 0U);
  saved.below.at(0).bytes = 1'000;
  EXPECT_EQ(palimpsest::test::error_of([&] { const FaultReport shorter(options, &saved); }),
            ErrorCode::corruption);
}

TEST(FaultReportTest, PercentIsJudgedAtTheEnd) {
  FaultReport report({.limit = {.percent = 1}, .shown_max = 0});
  report.add(fault(FaultKind::parse), "x");
  EXPECT_FALSE(report.is_over());
  EXPECT_TRUE(report.is_over(99));
  EXPECT_FALSE(report.is_over(100));
}

TEST(FaultReportTest, FilesThatCannotBeMade) {
  EXPECT_EQ(palimpsest::test::error_of(
                [] { const FaultReport report({.reject_file = "/nowhere/at/all"}); }),
            ErrorCode::not_found);
}

}  // namespace
}  // namespace palimpsest::load
