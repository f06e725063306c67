// What a database leaves behind: the location of its log, directories that survive a power failure,
// descriptors; and the state after a close that fails.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace {

/// Records the calls of the test's own fsync() and fdatasync(), and makes them fail.
struct Syncs {
  std::mutex mutex;
  std::vector<std::string> synced;  ///< paths; guarded by mutex
  std::atomic<bool> fail{false};

  int sync(int file, long call) {
    if (fail.load()) {
      errno = EIO;
      return -1;
    }
    const std::lock_guard guard(mutex);
    std::error_code ignored;
    synced.push_back(
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), ignored));
    return static_cast<int>(::syscall(call, file));
  }
  [[nodiscard]] bool has_synced(const std::filesystem::path& path) {
    const std::lock_guard guard(mutex);
    return std::ranges::find(synced, std::filesystem::canonical(path).string()) != synced.end();
  }
};

Syncs& syncs() {
  static Syncs syncs;
  return syncs;
}

}  // namespace

// Replace the system's calls in this program.
extern "C" {
int fsync(int file) {
  return syncs().sync(file, SYS_fsync);
}
int fdatasync(int file) {
  return syncs().sync(file, SYS_fdatasync);
}
}

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using ::testing::HasSubstr;

TableSchema notes() {
  return {.name = "note", .columns = {{"id", int64()}, {"text", varchar(20'000)}}, .key = {"id"}};
}

Options options() {
  return {.memory_bytes = std::uint64_t{16} << 20U};
}

Options options(const std::string& log_directory) {
  Options with_log = options();
  with_log.log_directory = log_directory;
  return with_log;
}

void insert_notes(const Table& table, std::int64_t rows) {
  for (std::int64_t id = 0; id < rows; ++id) {
    const std::string text(id % 8 == 0 ? 15'000 : 500, 'n');
    table.insert({id, text}).require();
  }
}

std::int64_t count_notes(const Database& database) {
  std::int64_t rows = 0;
  database.table("note").visit(Range::all(),
                               [&](const RowView&) { return static_cast<void>(++rows), true; });
  return rows;
}

class ClosingTest : public ::testing::Test {
 protected:
  ~ClosingTest() override { syncs().fail.store(false); }
  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] std::string log_path() const { return directory_.path("log"); }

  test::TemporaryDirectory directory_;
};

// Where the log is

/// Opening must say that the log is not where it was expected, and where it was.
void expect_log_not_found(const std::string& path, const Options& how, const std::string& looked_in,
                          const std::string& known) {
  std::string message;
  EXPECT_EQ(error_of([&] { return Database::open(path, how); }, &message),
            ErrorCode::log_not_found);
  EXPECT_THAT(message, HasSubstr("\"" + looked_in + "\""));
  EXPECT_THAT(message, HasSubstr("\"" + known + "\""));
}

TEST_F(ClosingTest, AForgottenLogDirectoryIsNoMissingDatabase) {
  for (const bool is_closed : {true, false}) {
    std::filesystem::remove_all(path());
    std::filesystem::remove_all(log_path());
    {
      Database database = Database::open(path(), options(log_path()));
      insert_notes(database.create_table(notes()), 20);
      if (is_closed) {
        database.close();
      }
    }
    expect_log_not_found(path(), options(), path(), log_path());
    Options reading = options();
    reading.read_only = true;
    expect_log_not_found(path(), reading, path(), log_path());
    Options existing = options();
    existing.create_if_missing = false;
    expect_log_not_found(path(), existing, path(), log_path());
    for (Options elsewhere : {reading, existing, options()}) {
      elsewhere.log_directory = directory_.path("elsewhere");
      expect_log_not_found(path(), elsewhere, directory_.path("elsewhere"), log_path());
    }
    const Database again = Database::open(path(), options(log_path()));
    EXPECT_EQ(count_notes(again), 20) << "nothing was made or removed";
  }
}

TEST_F(ClosingTest, ALogThatWasMovedIsFoundWhereTheOptionsSayAndRememberedThere) {
  static_cast<void>(Database::open(path(), options(log_path())).create_table(notes()));
  const std::string moved = directory_.path("moved");
  std::filesystem::rename(log_path(), moved);
  expect_log_not_found(path(), options(log_path()), log_path(), log_path());
  EXPECT_EQ(count_notes(Database::open(path(), options(moved))), 0);
  expect_log_not_found(path(), options(), path(), moved);
  for (const auto& file : std::filesystem::directory_iterator(moved)) {
    std::filesystem::rename(file.path(), path() / file.path().filename());
  }
  EXPECT_EQ(count_notes(Database::open(path(), options())), 0);
  EXPECT_FALSE(std::filesystem::exists(path() + "/log-directory"));
}

TEST_F(ClosingTest, WithoutPagesThereIsNoDatabase) {
  Options existing = options(log_path());
  existing.create_if_missing = false;
  EXPECT_EQ(error_of([&] { return Database::open(path(), existing); }), ErrorCode::not_found);
  std::filesystem::create_directory(path());
  EXPECT_EQ(error_of([&] { return Database::open(path(), existing); }), ErrorCode::not_found);
}

// Directories

TEST_F(ClosingTest, ABackupIntoTheDatabasesOwnDirectoriesIsRefused) {
  Database database = Database::open(path(), options(log_path()));
  insert_notes(database.create_table(notes()), 20);
  std::filesystem::create_directory_symlink(path(), directory_.path("link"));
  std::filesystem::create_directory(path() + "/there");
  for (const std::string& own :
       {path() + "/backup", path() + "/./a/../backup", directory_.path("link/backup"),
        log_path() + "/backup", path() + "/there"}) {
    std::string message;
    EXPECT_EQ(error_of([&] { return database.backup(own); }, &message), ErrorCode::invalid_argument)
        << own;
    EXPECT_THAT(message, HasSubstr("the database's own directory"));
  }
  for (const std::string& own : {path(), log_path(), directory_.path("link")}) {
    EXPECT_EQ(error_of([&] { return database.backup(own); }), ErrorCode::already_exists) << own;
  }
  EXPECT_FALSE(std::filesystem::exists(path() + "/backup"));
  EXPECT_FALSE(std::filesystem::exists(log_path() + "/backup"));
  // A directory beside it whose name only begins with the prefix is not part of it.
  static_cast<void>(database.backup(path() + "-backup"));
  EXPECT_EQ(count_notes(Database::open(path() + "-backup", options())), 20);
}

/// If the process that made a directory is killed before it makes the directory durable, the next
/// user of the directory does so.
TEST_F(ClosingTest, ADirectoryThatIsFoundEmptyIsMadeDurableInItsParent) {
  std::filesystem::create_directories(directory_.path("a/database"));
  std::filesystem::create_directories(directory_.path("b/log"));
  const Database database =
      Database::open(directory_.path("a/database"), options(directory_.path("b/log")));
  EXPECT_TRUE(syncs().has_synced(directory_.path("a")));
  EXPECT_TRUE(syncs().has_synced(directory_.path("b")));
}

// Closing

std::vector<std::string> open_descriptors() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink(entry.path(), ignored);
    if (!ignored && !target.string().starts_with("/proc/")) {
      names.push_back(entry.path().filename().string() + " " + target.string());
    }
  }
  std::ranges::sort(names);
  return names;
}

TEST_F(ClosingTest, AfterCloseNoDescriptorIsLeftOpen) {
  const auto before = open_descriptors();
  for (const bool is_read_only : {false, true}) {
    Options how = options(log_path());
    how.read_only = is_read_only;
    Database database = Database::open(path(), how);
    if (!is_read_only) {
      insert_notes(database.create_table(notes()), 400);
      database.create_index("note", {.name = "by_id", .columns = {"id"}});
    }
    const Table table = database.table("note");
    EXPECT_EQ(count_notes(database), 400);
    EXPECT_NE(open_descriptors(), before);
    database.close();
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(error_of([&] { return table.get({1}); }), ErrorCode::invalid_argument);
  }
}

TEST_F(ClosingTest, ASortThatIsLeftKeepsItsFileUntilItGoes) {
  const auto before = open_descriptors();
  Database database = Database::open(path(), options());
  const Table table = database.create_table(notes());
  RowEncoder encode(table);
  std::optional<RowSort> sort(std::in_place, table,
                              RowSortOptions{.memory_bytes = std::size_t{1} << 20U});
  const std::string text(1'000, 's');
  for (std::int64_t id = 0; id < 5'000; ++id) {
    sort->add(encode({id, text}));
  }
  database.close();
  sort.reset();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ClosingTest, ClosingThatFailsLeavesADatabaseThatIsClosed) {
  const auto before = open_descriptors();
  std::optional<Database> database = Database::open(path(), options());
  const Table table = database->create_table(notes());
  insert_notes(table, 100);
  syncs().fail.store(true);
  EXPECT_EQ(error_of([&] { return database->close(), 0; }), ErrorCode::io_error);
  syncs().fail.store(false);
  EXPECT_EQ(error_of([&] { return database->begin(); }, "was closed"), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return table.insert({1'000, "x"}); }, "was closed"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return database->close(), 0; }, "was closed"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(open_descriptors(), before);
  // Nothing of it is locked, and nothing is lost.
  EXPECT_EQ(count_notes(Database::open(path(), options())), 100);
}

TEST_F(ClosingTest, ClosingThatIsRefusedLeavesItOpen) {
  Database database = Database::open(path(), options());
  const Table table = database.create_table(notes());
  Transaction transaction = database.begin();
  table.insert(transaction, {1, "x"}).require();
  EXPECT_EQ(error_of([&] { return database.close(), 0; }, "are open: end them"),
            ErrorCode::invalid_argument);
  table.insert(transaction, {2, "y"}).require();
  transaction.commit();
  EXPECT_EQ(count_notes(database), 2);
  database.close();
}

}  // namespace
}  // namespace palimpsest
