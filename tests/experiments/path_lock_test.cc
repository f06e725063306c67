#include "experiments/common/path_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "experiments/common/flag_checks.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

std::string refusal(const std::filesystem::path& path) {
  try {
    const PathLock lock(path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "locked";
}

TEST(PathLock, OneHasItAtATime) {
  const test::TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path("not/there/yet");
  std::optional<PathLock> first(path);
  EXPECT_EQ(refusal(path),
            "--path=" + path.string() + ": in use by another process; name another path");
  EXPECT_EQ(refusal(temporary.path("other")), "locked");
  first.reset();
  EXPECT_EQ(refusal(path), "locked");
  EXPECT_TRUE(std::filesystem::is_empty(path)) << "a lock leaves nothing";
}

TEST(PathLock, FilesAreNoDirectories) {
  const test::TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path("file");
  std::ofstream(path) << "text";
  EXPECT_EQ(refusal(path), "--path=" + path.string() + ": is not a directory");
}

}  // namespace
}  // namespace palimpsest::experiments
