// Salvage of a database whose process was killed amid a transaction and a bulk: with its log, with
// pages damaged that the log changes, and with a log that is damaged or gone.
//
// What had been committed is what opening a copy of the files recovers. Every row says which
// version of which key it is, so that what was never written is known from what was.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/io/open_device.h"
#include "base/random.h"
#include "engine/engine.h"
#include "tests/engine/salvage/salvage_fixture.h"
#include "tests/support/killed_process.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::Content;
using test::DatabaseFiles;
using test::difference;
using test::salvaged;
using test::Salvaged;
using test::TableContent;

constexpr int kVersions = 30;
constexpr std::int64_t kUncommitted = 1'000;  ///< a version
constexpr std::int64_t kIds = 500;

std::string body_of(std::int64_t id, std::int64_t version) {
  const std::size_t bytes = id % 50 == 0 ? 6'000 : 90;
  return fmt::format("{}:{}:{}", id, version,
                     std::string(bytes, static_cast<char>('a' + version % 26)));
}

/// The version that a row of "t" is; nothing if no transaction has written it.
std::optional<std::int64_t> version_in(const std::string& row) {
  std::int64_t id = 0;
  std::int64_t version = 0;
  const std::size_t bar = row.find('|');
  const std::size_t colon = row.find(':');
  const std::size_t end = row.find(':', colon + 1);
  if (bar == std::string::npos || colon == std::string::npos || end == std::string::npos) {
    return std::nullopt;
  }
  std::from_chars(row.data(), row.data() + bar, id);
  std::from_chars(row.data() + colon + 1, row.data() + end, version);
  const bool is_known = version >= 0 && (version <= kVersions || version == kUncommitted);
  const bool is_it = row == fmt::format("{}|{}|", id, body_of(id, version));
  return is_known && is_it ? std::optional(version) : std::nullopt;
}

void make_tables(Database& database) {
  const Table t = database.create_table(
      {.name = "t", .columns = {{"id", int64()}, {"body", varchar(7'000)}}, .key = {"id"}});
  const Table old = database.create_table(key_value_table("old"));
  const Table stock = database.create_table(
      {.name = "stock", .columns = {{"id", int64()}, {"pieces", int64()}}, .key = {"id"}});
  database.create_table(key_value_table("churn"));
  database.create_index("t", {.name = "by_body", .columns = {"id", "body"}});
  database.drop_index("t", "by_body");
  database.run([&](Transaction& in) {
    for (std::int64_t id = 0; id < kIds; ++id) {
      const std::string body = body_of(id, 0);
      const std::string key = fmt::format("old {}", id);
      t.insert(in, {id, body}).require();
      stock.insert(in, {id, id}).require();
      old.insert(in, {key, key}).require();
    }
  });
}

void change_some(Database& database, std::int64_t version, Random& random) {
  const Table t = database.table("t");
  database.run([&](Transaction& in) {
    for (int i = 0; i < 25; ++i) {
      const auto id = static_cast<std::int64_t>(random.below(kIds));
      if (random.one_in(5)) {
        static_cast<void>(t.erase(in, {id}));
      } else {
        const std::string body = body_of(id, version);
        t.upsert(in, {id, body}).require();
      }
    }
    const std::string body = body_of(kIds + version, version);
    t.upsert(in, {kIds + version, body}).require();
  });
}

void churn(Database& database, int rows) {
  const Table table = database.table("churn");
  for (int row = 0; row < rows; ++row) {
    const std::string key = fmt::format("{}", row % 50);
    const std::string value(900, static_cast<char>('a' + row % 26));
    table.upsert({key, value}).require();
  }
}

/// Until it is killed.
int work(const std::string& path, std::uint64_t seed, int pipe) {
  Options options = test::small_options();
  options.log_bytes_max = std::uint64_t{16} << 20U;
  Database database = Database::open(path, options);
  Random random(seed);
  for (std::int64_t version = 1; version <= kVersions; ++version) {
    change_some(database, version, random);
    churn(database, 40);
  }
  Transaction bulk = database.begin({.bulk = true});
  const Table stock = bulk.table("stock");
  for (std::int64_t id = 0; id < kIds; id += 3) {
    stock.update(bulk, {id}, {{"pieces", -1}}).require();
    stock.erase(bulk, {id + 1}).require();
    stock.insert(bulk, {kIds + id, -1}).require();
  }
  Transaction open = database.begin({.durability = Durability::synchronous});
  const Table t = open.table("t");
  for (std::int64_t id = 0; id < kIds; id += 4) {
    const std::string body = body_of(id, kUncommitted);
    static_cast<void>(t.upsert(open, {id, body}));
    if (id % 8 == 0) {
      t.erase(open, {id}).require();
      t.insert(open, {id, body}).require();
    }
    static_cast<void>(t.erase(open, {id + 1}));
  }
  const std::string body = body_of(9'000, kUncommitted);
  t.insert(open, {9'000, body}).require();
  churn(database, 6'000);  // so that pages of these are written
  for (int looks = 0; looks < 200 && database.statistics().checkpoints < 4; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  database.table("old").upsert({"last", "row"}).require();
  const int report = 1;
  static_cast<void>(::write(pipe, &report, sizeof report));
  for (;;) {
    ::pause();
  }
}

class SalvageCrashed : public ::testing::Test {
 protected:
  SalvageCrashed() {
    {
      Database database = Database::open(path(), test::small_options());
      make_tables(database);
      database.close();
    }
    const std::uint64_t seed = test::seed();
    {
      test::KilledProcess<int> process([&](int pipe) { return work(path(), seed, pipe); });
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
      EXPECT_TRUE(process.read(deadline).has_value());
    }
    recover_copy();
  }

  [[nodiscard]] std::string path() const { return directory_.path("database"); }

  /// What opening finds, without anything that goes on in the background.
  void recover_copy() {
    const std::string copy = directory_.path("recovered");
    std::filesystem::copy(path(), copy);
    const auto device = io::open_device(copy, {.log = {}});
    engine::EngineOptions options;
    options.background_threads = false;
    engine::Engine::open(*device, *device, options)->close();
    pages_ = test::pages_of(copy);
    Database database = Database::open(copy, test::small_options());
    truth_ = test::content_of(database);
    database.close();
  }

  /// Every row is the one that had been committed, but for those of the page.
  void expect_truth_but(const test::OnPage& lost, const Content& found, const std::string& what) {
    const Content least = test::without(truth_, lost);
    for (const auto& [name, rows] : least) {
      ASSERT_TRUE(found.contains(name)) << what << ": " << name;
      for (const auto& [key, row] : rows) {
        ASSERT_TRUE(found.at(name).contains(key)) << what << ": " << name << " " << key;
      }
    }
    for (const auto& [name, rows] : found) {
      for (const auto& [key, row] : rows) {
        ASSERT_TRUE(truth_[name].contains(key)) << what << ": " << name << " " << key;
        ASSERT_EQ(truth_[name][key], row) << what << ": " << name << " " << key;
      }
    }
  }
  /// Every row has been written, and those that were never committed are told to be there.
  void expect_written(const Salvaged& found, const std::string& what) {
    bool is_any_uncommitted = false;
    for (const auto& [key, row] :
         found.content.contains("t") ? found.content.at("t") : TableContent{}) {
      const auto version = version_in(row);
      ASSERT_TRUE(version.has_value()) << what << ": " << row;
      is_any_uncommitted = is_any_uncommitted || *version == kUncommitted;
    }
    RecordProperty("uncommitted", is_any_uncommitted ? 1 : 0);
    if (is_any_uncommitted) {
      ASSERT_GT(found.report.pages_beyond_log, 0U) << what;
      ASSERT_NE(found.report.log_fault, "") << what;
    }
    if (found.content.contains("stock")) {
      for (const auto& [key, row] : found.content.at("stock")) {
        ASSERT_TRUE(truth_["stock"].contains(key)) << what << ": a row of a bulk: " << row;
        ASSERT_EQ(truth_["stock"][key], row) << what;
      }
    }
  }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  Content truth_;
  std::map<std::uint64_t, test::OnPage> pages_;
};

TEST_F(SalvageCrashed, WithItsLogNothingIsMissing) {
  const Salvaged found = salvaged(path());
  EXPECT_TRUE(found.report.is_whole());
  EXPECT_EQ(difference(truth_, found.content), "");
}

TEST_F(SalvageCrashed, EachPageDamaged) {
  const DatabaseFiles files(path());
  const std::uint64_t first = 65'536 / DatabaseFiles::kPageBytes + 256;
  for (test::Sweep sweep(files.page_count() - first, 40, 10); const auto number = sweep.next();) {
    const std::uint64_t page = first + *number;
    const std::string was = files.damage(page);
    const Salvaged found = salvaged(path());
    const auto lost = pages_.find(page);
    expect_truth_but(lost == pages_.end() ? test::OnPage{} : lost->second, found.content,
                     fmt::format("page {}", page));
    if (!difference(truth_, found.content).empty()) {
      EXPECT_FALSE(found.report.is_whole()) << page;
    } else if (lost == pages_.end()) {
      EXPECT_TRUE(found.report.is_whole()) << page;
    }
    files.mend(page, was);
  }
}

TEST_F(SalvageCrashed, WithoutItsLog) {
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (entry.path().filename().string().starts_with("log-")) {
      std::filesystem::remove(entry);
    }
  }
  const Salvaged found = salvaged(path());
  EXPECT_FALSE(found.report.is_whole());
  EXPECT_NE(found.report.log_fault, "");
  EXPECT_GT(found.report.pages_beyond_log, 0U);
  expect_written(found, "no log");
  EXPECT_GE(found.content.at("old").size() + 1, truth_.at("old").size());
}

// A place in a file of the log, and all behind it in that file.
TEST_F(SalvageCrashed, DamagedLog) {
  std::vector<std::filesystem::path> logs;
  for (const auto& entry : std::filesystem::directory_iterator(path())) {
    if (entry.path().filename().string().starts_with("log-")) {
      logs.push_back(entry.path());
    }
  }
  constexpr std::uint64_t kPlaces = 16;
  for (test::Sweep sweep(logs.size() * kPlaces, 20, 6); const auto number = sweep.next();) {
    const std::filesystem::path& log = logs[*number % logs.size()];
    const std::uint64_t bytes = std::filesystem::file_size(log);
    const std::uint64_t at = bytes / kPlaces * (*number / logs.size());
    const std::filesystem::path kept = directory_.path("kept");
    std::filesystem::copy_file(log, kept, std::filesystem::copy_options::overwrite_existing);
    {
      std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      const std::string noise(*number % 2 == 0 ? 512 : bytes - at, 'n');
      file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
    }
    const std::string what = fmt::format("{} at {}", log.filename().string(), at);
    expect_written(salvaged(path()), what);
    std::filesystem::copy_file(kept, log, std::filesystem::copy_options::overwrite_existing);
  }
}

}  // namespace
}  // namespace palimpsest
