// A file that is rewritten: completely, or not at all; the targets of links and pipes.
#include "tools/load/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::load {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class OutputFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path(name); }
  void make(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  palimpsest::test::TemporaryDirectory directory_{};
};

TEST_F(OutputFileTest, TakesItsPlaceWhenItIsComplete) {
  make("a", "old");
  OutputFile file(path("a"));
  EXPECT_THAT(names(), ElementsAre("a"));
  std::fputs("new text", file.begin());
  EXPECT_EQ(text_of(path("a")), "old");
  EXPECT_EQ(names().size(), 2U);
  file.complete();
  EXPECT_EQ(text_of(path("a")), "new text");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputFileTest, WhatIsNotCompleteIsGone) {
  make("a", "old");
  for (const char* const name : {"a", "b"}) {
    OutputFile file(path(name));
    std::fputs("new", file.begin());
    EXPECT_EQ(std::fflush(nullptr), 0);
  }
  EXPECT_EQ(text_of(path("a")), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputFileTest, KeepsPermissions) {
  make("a", "old");
  ASSERT_EQ(::chmod(path("a").c_str(), 0604), 0);
  OutputFile file(path("a"));
  static_cast<void>(file.begin());
  file.complete();
  EXPECT_EQ(text_of(path("a")), "");
  EXPECT_EQ(static_cast<unsigned>(fs::status(path("a")).permissions()), 0604U);
}

TEST_F(OutputFileTest, FollowsLinks) {
  fs::create_directory(path("far"));
  fs::create_symlink("link", path("first"));
  fs::create_symlink("far/a", path("link"));
  for (const char* const text : {"made", "made anew"}) {
    OutputFile file(path("first"));
    std::fputs(text, file.begin());
    file.complete();
    EXPECT_EQ(text_of(path("far/a")), text);
  }
  EXPECT_EQ(fs::read_symlink(path("first")), "link");
  EXPECT_EQ(fs::read_symlink(path("link")), "far/a");
  EXPECT_THAT(names(), ElementsAre("far", "first", "link"));
}

TEST_F(OutputFileTest, WritesPipesDirectly) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  OutputFile file(path("pipe"));
  std::fputs("text", file.begin());
  EXPECT_THAT(names(), ElementsAre("pipe"));
  file.complete();
  char text[8]{};
  EXPECT_EQ(::read(reader, text, sizeof text), 4);
  ::close(reader);
  EXPECT_EQ(std::string(text), "text");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(OutputFileTest, WritesDescriptorsDirectly) {
  make("a", "old");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> open(std::fopen(path("a").c_str(), "re"),
                                                             std::fclose);
  fs::create_symlink("/proc/self/fd/" + std::to_string(::fileno(open.get())), path("link"));
  OutputFile file(path("link"));
  std::fputs("new", file.begin());
  file.complete();
  char text[8]{};
  EXPECT_EQ(std::string(std::fgets(text, sizeof text, open.get())), "new");
}

TEST_F(OutputFileTest, Refusals) {
  fs::create_symlink("loop", path("loop"));
  const std::map<std::string, ErrorCode> refusals{
      {"none/a", ErrorCode::not_found}, {"", ErrorCode::io_error}, {"loop", ErrorCode::io_error}};
  for (const auto& [name, code] : refusals) {
    OutputFile file(path(name));
    EXPECT_EQ(palimpsest::test::error_of([&] { return file.begin(); }, path(name)), code) << name;
  }
  EXPECT_THAT(names(), ElementsAre("loop"));
}

}  // namespace
}  // namespace palimpsest::load
