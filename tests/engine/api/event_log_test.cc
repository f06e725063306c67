// An event log: threads append, the oldest events are erased all the time, and slow reports read
// the whole table meanwhile. Each report finishes, and sees one state of the table.
//
// PALIMPSEST_EVENT_LOG_MIB=64 gives the database four times the memory, and four times the events.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "palimpsest/database.h"

#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::size_t kAppenders = 4;
constexpr std::int64_t kBatch = 20;
constexpr std::int64_t kErasedAtATime = 200;
/// The most events by which erasing may lag behind appending.
constexpr std::int64_t kBehind = 4'000;
constexpr int kReports = 3;  ///< at least
constexpr std::uint64_t kLeastMebibytes = 16;

/// The database's memory: from the environment, or by default the least.
std::uint64_t mebibytes() noexcept {
  const char* const given =
      std::getenv("PALIMPSEST_EVENT_LOG_MIB");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t asked = given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
  return std::max(asked, kLeastMebibytes);
}
const auto kTimes = static_cast<std::int64_t>(mebibytes() / kLeastMebibytes);
const std::int64_t kKept = 10'000 * kTimes;
/// Rows appended during each report, with as many erased: with their index entries, nine times what
/// the memory for versions could hold one by one.
const std::int64_t kAppendedBeside = 20'000 * kTimes;

Options log_options() {
  Options options;
  options.memory_bytes = mebibytes() * kMiB;
  options.version_bytes_max = options.memory_bytes / 16;
  options.log_bytes_max = 512 * kMiB;
  options.durability = Durability::asynchronous;
  return options;
}

class EventLog : public ::testing::Test {
 protected:
  EventLog()
      : database_(Database::open(directory_.path(), log_options())), events_(make(database_)) {
    for (std::int64_t id = 0; id < kKept; id += kBatch) {
      append(id);
    }
  }
  ~EventLog() override { database_.close(); }

  static Table make(Database& database) {
    database.create_table(
        {.name = "event",
         .columns = {{"id", int64()}, {"source", int64()}, {"body", varchar(100)}},
         .key = {"id"}});
    database.create_index("event", {.name = "by_source", .columns = {"source"}});
    return database.table("event");
  }

  void append(std::int64_t first) {
    const std::string body(60, 'e');
    database_.run([&](Transaction& in) {
      for (std::int64_t id = first; id < first + kBatch; ++id) {
        events_.insert(in, {id, id % 97, body}).require();
      }
    });
  }
  void append_all() {
    while (!is_over_) {
      if (const std::int64_t erased = erased_; appended_ - erased > kBehind) {
        erased_.wait(erased);
        continue;
      }
      append(next_.fetch_add(kBatch));
      appended_.fetch_add(kBatch);
      appended_.notify_all();
    }
  }
  /// Erases all but the newest kKept events.
  void erase_old() {
    std::int64_t oldest = 0;
    while (!is_over_) {
      const std::int64_t now = appended_;
      const std::int64_t until = std::min(oldest + kErasedAtATime, now);
      if (until <= oldest) {
        appended_.wait(now);
        continue;
      }
      database_.run([&](Transaction& in) {
        static_cast<void>(events_.erase_range(in, Range::up_to({until}, Range::Bound::exclusive)));
      });
      oldest = until;
      erased_ = oldest;
      erased_.notify_all();
    }
  }

  /// Reads all rows, while that many are appended, some before each row.
  void report() {
    TransactionOptions options;
    options.read_only = true;
    Transaction in = database_.begin(options);
    const std::int64_t begun_at = appended_;
    const std::int64_t by_source = count(events_.index("by_source").cursor(in), begun_at);
    const std::int64_t by_id = count(events_.cursor(in), begun_at);
    EXPECT_EQ(by_id, by_source);
    EXPECT_GE(by_id, kKept / 2);
    EXPECT_GE(appended_ - begun_at, kAppendedBeside);
    EXPECT_EQ(count(events_.cursor(in), begun_at), by_id);
    in.commit();
  }
  std::int64_t count(Cursor cursor, std::int64_t begun_at) {
    std::int64_t rows = 0;
    for (; cursor.valid(); cursor.next()) {
      ++rows;
      wait_for(begun_at + std::min(rows * 4, kAppendedBeside));
    }
    return rows;
  }
  void wait_for(std::int64_t appended) {
    for (std::int64_t now = appended_; now < appended; now = appended_) {
      appended_.wait(now);
    }
  }

  test::TemporaryDirectory directory_;
  Database database_;
  Table events_;
  std::atomic<std::int64_t> next_{kKept};
  std::atomic<std::int64_t> appended_{0};
  std::atomic<std::int64_t> erased_{0};
  std::atomic<bool> is_over_{false};
};

TEST_F(EventLog, EveryReportFinishes) {
  test::run_threads(kAppenders + 2, [&](std::size_t thread) {
    if (thread < kAppenders) {
      append_all();
    } else if (thread == kAppenders) {
      erase_old();
    } else {
      for (test::Rounds rounds(kReports); rounds.next();) {
        EXPECT_NO_THROW(report());
      }
      is_over_ = true;
      for (std::atomic<std::int64_t>* const progress : {&appended_, &erased_}) {
        progress->fetch_add(1);
        progress->notify_all();
      }
    }
  });
  EXPECT_GE(erased_, kReports * kAppendedBeside - kBehind);
}

}  // namespace
}  // namespace palimpsest
