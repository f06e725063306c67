#include "experiments/common/progress_display.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace palimpsest::experiments {
namespace {

constexpr Progress kHalf{
    .what = "loading", .unit = "rows", .done = 1'000, .total = 2'000, .seconds = 2};

TEST(ProgressDisplay, ABarSaysHowFarItIs) {
  EXPECT_EQ(bar_text(kHalf),
            "loading [###############...............]  50 %  1,000 of 2,000 rows, 500 rows/s, 2 s "
            "left");
}

TEST(ProgressDisplay, ABarBeginsEmptyAndNeverRunsOver) {
  EXPECT_EQ(bar_text({.what = "w", .unit = "u", .done = 0, .total = 1'234'567, .seconds = 0}),
            "w [..............................]   0 %  0 of 1,234,567 u, 0 u/s");
  EXPECT_EQ(bar_text({.what = "w", .unit = "u", .done = 30, .total = 20, .seconds = 1}),
            "w [##############################] 100 %  30 of 20 u, 30 u/s, 0 s left");
}

TEST(ProgressDisplay, WithoutATerminalABarIsALineASecond) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  ProgressDisplay display(file.get());
  display.line("begin");
  display.bar(kHalf);
  display.bar(kHalf);
  display.end_bar(kHalf);
  std::rewind(file.get());
  std::array<char, 4096> bytes{};
  const std::size_t size = std::fread(bytes.data(), 1, bytes.size(), file.get());
  EXPECT_EQ(std::string(bytes.data(), size),
            "begin\n" + bar_text(kHalf) + "\n" + bar_text(kHalf) + "\n");
}

TEST(ProgressDisplay, NothingIsShownWhereThereIsNoOutput) {
  ProgressDisplay display(nullptr);
  display.line("lost");
  display.bar(kHalf);
  display.end_bar(kHalf);
}

}  // namespace
}  // namespace palimpsest::experiments
