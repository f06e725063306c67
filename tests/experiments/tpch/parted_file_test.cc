// Files that threads write part by part: in order, whole or not at all.
#include "experiments/tpch/parted_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "tests/experiments/tpch/file_content.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/thread_group.h"

namespace palimpsest::experiments::tpch {
namespace {

std::string part(std::uint64_t number) {
  return std::string(number * 37 % 5000, static_cast<char>('a' + number % 26));
}

TEST(PartedFile, HasItsPartsInOrder) {
  constexpr std::uint64_t kParts = 400;
  const palimpsest::test::TemporaryDirectory directory;
  const std::string path = directory.path("file");
  std::string expected;
  for (std::uint64_t number = 0; number < kParts; ++number) {
    expected += part(number);
  }
  PartedFile file(path);
  const std::atomic<bool> stopping{false};
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> failures{0};
  palimpsest::test::run_threads(4, [&](std::size_t) {
    for (std::uint64_t number = next++; number < kParts; number = next++) {
      failures += file.write(number, part(number), stopping) ? 0 : 1;
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_FALSE(std::filesystem::exists(path)) << "it is not complete yet";
  file.complete();
  EXPECT_TRUE(test::content_of(path) == expected);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(PartedFile, IsNothingUntilItIsComplete) {
  const palimpsest::test::TemporaryDirectory directory;
  const std::string path = directory.path("file");
  {
    PartedFile file(path);
    ASSERT_TRUE(file.write(0, "text", std::atomic<bool>(false)));
    EXPECT_TRUE(std::filesystem::exists(path + ".partial"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(PartedFile, APartThatWaitsGivesUp) {
  const palimpsest::test::TemporaryDirectory directory;
  PartedFile file(directory.path("file"));
  std::atomic<bool> stopping{false};
  std::atomic<bool> written{true};
  std::thread waiting([&] { written = file.write(1, "second", stopping); });
  stopping = true;
  waiting.join();
  EXPECT_FALSE(written);
}

TEST(PartedFile, SaysWhichFileItIs) {
  const palimpsest::test::TemporaryDirectory directory;
  try {
    PartedFile file(directory.path("none/file"));
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_NE(std::string(error.what()).find("none/file.partial"), std::string::npos);
  }
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
