// Databases whose log is in another directory: found in the named one, and not mistaken for a
// missing log.
#include "tools/load/database_place.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::load {
namespace {

namespace fs = std::filesystem;
using palimpsest::test::error_of;

class DatabasePlaceTest : public testing::Test {
 protected:
  [[nodiscard]] DatabasePlace place(const std::string& log) const {
    return {.pages = directory_.path("db"), .log = log.empty() ? "" : directory_.path(log)};
  }
  void make(const std::string& log) const {
    open_database(place(log), {.memory_bytes = std::uint64_t{32} << 20U}).close();
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return fs::exists(directory_.path(name));
  }

 private:
  palimpsest::test::TemporaryDirectory directory_{};
};

TEST_F(DatabasePlaceTest, MakesAndFindsTheLogThere) {
  EXPECT_FALSE(find_database(place("logs"), {}));
  EXPECT_FALSE(has("db"));
  EXPECT_FALSE(has("logs"));
  make("logs");
  EXPECT_TRUE(has("logs/log-control"));
  EXPECT_FALSE(has("db/log-control"));
  EXPECT_TRUE(find_database(place("logs"), {}));
}

TEST_F(DatabasePlaceTest, PagesWithoutLogAreNoNewDatabase) {
  make("logs");
  for (const char* const log : {"", "elsewhere"}) {
    const char* const message =
        *log == '\0' ? "--log-directory says where it is" : "no log is there";
    EXPECT_EQ(error_of([&] { return find_database(place(log), {}); }, message),
              ErrorCode::not_found);
    EXPECT_FALSE(has("elsewhere"));
  }
  EXPECT_EQ(error_of([&] { make(""); }, "--log-directory"), ErrorCode::not_found);
  EXPECT_FALSE(has("db/log-control"));
}

}  // namespace
}  // namespace palimpsest::load
