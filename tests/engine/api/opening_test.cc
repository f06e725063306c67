// Opening: what counts as an existing database, and which options take effect.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "palimpsest/database.h"

#include "base/io/open_device.h"
#include "buffer/page_file.h"
#include "engine/engine.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using test::error_of;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

class OpeningTest : public ::testing::Test {
 protected:
  [[nodiscard]] static Options small() {
    Options options;
    options.memory_bytes = 32 * kMiB;
    return options;
  }
  [[nodiscard]] static Options new_one() {
    Options options = small();
    options.must_be_new = true;
    return options;
  }
  [[nodiscard]] Database open(const Options& options = small()) const {
    return Database::open(path(), options);
  }
  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  /// The state after a crash before the database is complete.
  void leave_unfinished() const {
    const auto device = io::open_device(path(), {.create = true});
    buffer::PageFile::create(*device, buffer::kPageFileName, {}).reset();
  }
  [[nodiscard]] static EffectiveOption shown(const Database& database, std::string_view name) {
    return *std::ranges::find(database.options(), name, &EffectiveOption::name);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(OpeningTest, OneThatWasNeverFinishedIsNone) {
  leave_unfinished();
  Database database = open(new_one());
  database.create_table(key_value_table("word"));
  database.close();
  EXPECT_EQ(open().tables().size(), 1U);
}

// Creating it again removes the unfinished files, and no file of another database.
TEST_F(OpeningTest, AnUnfinishedOneIsRemovedWithoutOtherFiles) {
  leave_unfinished();
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(path() + "/" + name) << text;
  };
  const std::string foreign(10'000, 'x');
  write("log-book.txt", "dear diary");
  write("log-0777", foreign);
  write("log-0003", "");
  write("log-0005", std::string(8192, '\0'));
  open(new_one()).close();
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"log-book.txt", "dear diary"}, {"log-0777", foreign}}) {
    std::ostringstream read;
    read << std::ifstream(path() + "/" + name).rdbuf();
    EXPECT_EQ(read.str(), text) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(path() + "/log-0005"));
  EXPECT_TRUE(open().tables().empty());
}

TEST_F(OpeningTest, OneThatIsThereIsNotNewAndStaysAsItIs) {
  open().close();
  EXPECT_EQ(error_of([&] { return open(new_one()); }, path() + ": a database exists already"),
            ErrorCode::already_exists);
  const auto device = io::open_device(path(), {});
  EXPECT_NO_THROW(static_cast<void>(
      buffer::PageFile::open(*device, buffer::kPageFileName, {.read_only = true})))
      << "closed cleanly";
}

TEST_F(OpeningTest, SizesOfADatabaseThatExistsAreItsOwn) {
  Options options = small();
  options.page_bytes = 16384;
  options.log_bytes_max = 256 * kMiB;  // in segments of 8 MiB
  {
    const Database database = open(options);
    EXPECT_EQ(shown(database, "page_bytes").value, "16384");
    EXPECT_EQ(shown(database, "page_bytes").reason, "set");
    EXPECT_EQ(shown(database, "log_bytes_max").reason, "set");
  }
  for (const std::uint32_t asked : {0U, 8192U}) {
    options.page_bytes = asked;
    options.log_bytes_max = 12 * kMiB;
    const Database database = open(options);
    EXPECT_EQ(shown(database, "page_bytes").value, "16384");
    EXPECT_EQ(shown(database, "page_bytes").reason, "of the database");
    EXPECT_EQ(database.statistics().page_bytes, 16384U);
    EXPECT_EQ(shown(database, "log_bytes_max").value, std::to_string(32 * kMiB));
    EXPECT_EQ(shown(database, "log_bytes_max").reason,
              "set, in whole segments of 8388608 bytes, at least 4");
  }
}

}  // namespace
}  // namespace palimpsest
