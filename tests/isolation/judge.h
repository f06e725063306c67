// The verdict of a test on a history in a file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/isolation/history_checker.h"

namespace palimpsest::isolation {

/// Success if the level allows the history; otherwise keeps the file, and names it.
[[nodiscard]] inline ::testing::AssertionResult judge(const std::string& file, Level level,
                                                      const Verdict& verdict) {
  if (verdict.findings.count_forbidden(level) == 0) {
    return ::testing::AssertionSuccess();
  }
  const std::filesystem::path kept =
      std::filesystem::temp_directory_path() / "palimpsest-history-violated.jsonl";
  std::filesystem::copy_file(file, kept, std::filesystem::copy_options::overwrite_existing);
  return ::testing::AssertionFailure() << text_of(verdict, level) << "the history is in " << kept;
}

}  // namespace palimpsest::isolation
