// Copies of a database in use: their contents, and what a failed backup leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "tests/engine/backup_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::Rounds;
using palimpsest::test::SimDisk;
using palimpsest::test::SimFault;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;

class Backups : public ::testing::Test {
 public:
  ~Backups() override { copy_.set_hook({}); }

 protected:
  Backups() { open(); }

  void open() {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.transactions.asynchronous_interval = std::chrono::seconds(60);
    options.log_bytes_max = 24 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    static_cast<void>(database_->make_tree("records"));
  }
  void commit(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      writer_.commit_one(*database_);
      if (writer_.commits() % 16 == 0) {
        database_->checkpointer().run();
      }
    }
  }
  /// Commits until the log has grown by so much.
  void log_bytes(std::uint64_t bytes) {
    const std::uint64_t until = database_->log().end_position() + bytes;
    while (database_->log().end_position() < until) {
      commit(8);
      database_->checkpointer().run();
    }
  }
  /// Calls `meanwhile` each time when a part of the pages has been read and is about to be written,
  /// a limited number of times, for otherwise the backup would not end.
  BackupReport back_up(const std::function<void()>& meanwhile = {},
                       const BackupOptions& options = {}) {
    const auto into = copy_.device();
    bool busy = false;
    int left = 12;
    copy_.set_hook([&](const SimOperation& operation) {
      const bool is_page = operation.kind == SimKind::write && operation.file == "pages.copy" &&
                           operation.offset_bytes >= 2 * kFirstBytes;
      if (meanwhile && is_page && !busy && left > 0) {
        busy = true;
        --left;
        meanwhile();
        busy = false;
      }
    });
    const BackupReport report = database_->back_up(*into, options);
    copy_.set_hook({});
    return report;
  }
  /// The copy opens after a power failure, and is the database after this many commits, or more.
  void expect_copy(std::size_t least) {
    OpenedCopy copy(copy_);
    EXPECT_TRUE(writer_.explains(copy.content(), least));
    EXPECT_TRUE(sound(copy.database()));
  }
  [[nodiscard]] std::vector<std::string> files_of_copy() const { return copy_.device()->list(); }

  static constexpr std::uint64_t kFirstBytes = 65'536;  ///< of a page file: headers
  SimDisk disk_;
  SimDisk copy_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  KnownWriter writer_{"a", palimpsest::test::seed()};
};

TEST_F(Backups, OneThatIsNotUsedMeanwhile) {
  commit(60);
  database_->log().write_pending();
  const BackupReport report = back_up();
  EXPECT_GT(report.page_bytes, 1'000'000U);
  EXPECT_EQ(report.page_bytes_again, 0U);
  EXPECT_EQ(report.damaged_pages, 0U);
  expect_copy(60);
  commit(5);
  EXPECT_TRUE(writer_.explains(content_of(*database_->find_tree("records")), 65));
}

TEST_F(Backups, OneThatWasClosedCleanly) {
  commit(10);
  database_->close();
  open();
  static_cast<void>(back_up());
  expect_copy(10);
}

TEST_F(Backups, AnEmptyOne) {
  static_cast<void>(back_up());
  OpenedCopy copy(copy_);
  EXPECT_TRUE(copy.content().empty());
  EXPECT_TRUE(sound(copy.database()));
}

// Commits, evictions, replacements and frees between two parts of the copy: the copy contains all
// commits up to one, and none after it.
TEST_F(Backups, OneThatIsChangedMeanwhile) {
  Random random(palimpsest::test::seed());
  for (Rounds rounds(4, 2.0); rounds.next();) {
    commit(40);
    const std::size_t before = writer_.commits();
    copy_ = SimDisk();
    static_cast<void>(back_up([&] { commit(random.below(30)); }));
    expect_copy(before);
  }
}

TEST_F(Backups, ACopyIsADatabaseOfItsOwn) {
  commit(30);
  static_cast<void>(back_up());
  OpenedCopy copy(copy_);
  EXPECT_NE(copy.database().file().header().uuid, database_->file().header().uuid);
  KnownWriter other("b", 7);
  for (int i = 0; i < 40; ++i) {
    other.commit_one(copy.database());
  }
  EXPECT_TRUE(other.explains(copy.content(), 40));
  EXPECT_TRUE(writer_.explains(copy.content(), 30));
  copy.database().close();
}

TEST_F(Backups, ACopyCanBeCopied) {
  commit(30);
  static_cast<void>(back_up());
  OpenedCopy first(copy_);
  SimDisk second;
  const auto into = second.device();
  static_cast<void>(first.database().back_up(*into, {}));
  EXPECT_TRUE(writer_.explains(OpenedCopy(second).content(), 30));
}

TEST_F(Backups, AsynchronousCommitsFromBeforeAreInIt) {
  commit(10);
  {
    const auto transaction = database_->begin(txn::Durability::asynchronous);
    ASSERT_FALSE(transaction->insert(*database_->find_tree("records"), "z", "late").existed);
    transaction->commit();
  }
  static_cast<void>(back_up());
  EXPECT_EQ(OpenedCopy(copy_).content().count("z"), 1U);
}

TEST_F(Backups, WhatHasNotCommittedIsNotInIt) {
  commit(10);
  const auto open = database_->begin();
  ASSERT_FALSE(open->insert(*database_->find_tree("records"), "z", "never").existed);
  database_->checkpointer().run();  // its change is on the page that is copied
  static_cast<void>(back_up());
  expect_copy(10);
  EXPECT_EQ(OpenedCopy(copy_).content().count("z"), 0U);
  open->rollback();
}

// The log

// Logs several times the log's bound. Segments of the log that are copied are freed.
TEST_F(Backups, TheLogIsUsedAgainMeanwhile) {
  commit(150);  // pages for several parts
  const std::uint64_t before = database_->log().end_position();
  static_cast<void>(back_up([&] { log_bytes(database_->log_bytes_max() / 4); }));
  EXPECT_GT(database_->log().end_position() - before, database_->log_bytes_max());
  expect_copy(150);
}

// Opening frees the part of the copy's log that exceeds the bound.
TEST_F(Backups, ALongLogBecomesShortAgain) {
  commit(150);  // pages for several parts
  const BackupReport report = back_up([&] { log_bytes(database_->log_bytes_max() / 4); });
  ASSERT_GT(report.log_bytes, database_->log_bytes_max());
  const auto segments = [](io::Device& device) {
    return std::ranges::count_if(
        device.list(), [](const std::string& name) { return wal::Segments::is_name(name); });
  };
  const auto most =
      static_cast<std::int64_t>(database_->log_bytes_max() / database_->log_segment_bytes());
  ASSERT_GT(segments(*copy_.device()), most);
  OpenedCopy copy(copy_);
  EXPECT_LE(segments(copy.device()), most);
}

// Segments freed later compensate for the space that undo overdraws.
TEST_F(Backups, ACopyOfALongLogWithALoserCanBeWritten) {
  commit(60);
  const auto loser = database_->begin();
  static_cast<void>(back_up([&] {
    for (int i = 0; i < 60; ++i) {
      static_cast<void>(loser->upsert(*database_->find_tree("records"), "z/" + std::to_string(i),
                                      std::string(900, 'z')));
    }
    commit(30);
    database_->checkpointer().run();
  }));
  EngineOptions options = small_options();
  options.log_bytes_max = 6 * wal::kSegmentBytesMin;
  options.background_threads = true;
  OpenedCopy copy(copy_, options);
  ASSERT_GT(copy.database().recovery().losers, 0U);
  KnownWriter other("b", 7);
  for (int i = 0; i < 200; ++i) {
    try_often([&] { other.commit_one(copy.database()); });
  }
  EXPECT_TRUE(other.explains(copy.content(), 200));
  loser->rollback();
}

// Stamps of large values contain the number of the opening.
TEST_F(Backups, TheOpeningsOfACopyAreNumberedOn) {
  commit(5);
  open();
  static_cast<void>(back_up());
  EXPECT_GT(OpenedCopy(copy_).database().file().header().open_count,
            database_->file().header().open_count);
}

TEST_F(Backups, OneThatIsTooSlowFailsAndWritersDoNot) {
  commit(60);
  bool done = false;
  const auto code = error_of([&] {
    static_cast<void>(back_up([&] {
      if (!done) {
        done = true;
        log_bytes(database_->log_bytes_max());
      }
    }));
  });
  EXPECT_EQ(code, ErrorCode::no_space);
  EXPECT_TRUE(files_of_copy().empty());
  commit(10);
  copy_.set_hook({});
  static_cast<void>(back_up());
  expect_copy(writer_.commits());
}

// A log of so few segments is full before the pin holds back half of it.
TEST_F(Backups, AWriterThatWaitsForAShortLogIsNotBlocked) {
  database_.reset();
  disk_ = SimDisk();
  device_ = disk_.device();
  EngineOptions options = small_options();
  options.log_bytes_max = 4 * wal::kSegmentBytesMin;
  options.background_threads = true;
  database_ = Engine::open(*device_, *device_, options);
  static_cast<void>(database_->make_tree("records"));
  for (int i = 0; i < 60; ++i) {
    try_often([&] { writer_.commit_one(*database_); });
  }
  bool done = false;
  const auto code = error_of([&] {
    static_cast<void>(back_up([&] {
      const std::uint64_t until = database_->log().end_position() + 2 * options.log_bytes_max;
      while (!done && database_->log().end_position() < until) {
        try_often([&] { writer_.commit_one(*database_); });
      }
      done = true;
    }));
  });
  EXPECT_EQ(code, ErrorCode::no_space);
  try_often([&] { writer_.commit_one(*database_); });
}

// Damage

TEST_F(Backups, APageThatWasBeingWrittenIsReadAgain) {
  commit(40);
  database_->checkpointer().run();
  disk_.inject({.effect = SimFault::Effect::flip_bits,
                .kinds = static_cast<unsigned>(SimKind::read),
                .file = "pages",
                .nth = 2});
  EXPECT_EQ(back_up().damaged_pages, 0U);
  expect_copy(40);
}

// For longer than all attempts to read the page whole take.
TEST_F(Backups, APageThatWasBeingWrittenForLongIsCopiedAgain) {
  commit(40);
  database_->checkpointer().run();
  disk_.inject({.effect = SimFault::Effect::flip_bits,
                .kinds = static_cast<unsigned>(SimKind::read),
                .file = "pages",
                .for_good = true});
  const BackupReport report = back_up([&] { disk_.clear_faults(); });
  EXPECT_EQ(report.damaged_pages, 0U);
  EXPECT_GT(report.page_bytes_again, 0U);
  expect_copy(40);
}

// Each read of the backup fails in turn; one of them is the read that repeats a damaged one. The
// last backup has fewer reads than `nth`, and succeeds.
TEST_F(Backups, AReadThatFailsIsTold) {
  commit(40);
  std::uint64_t nth = 3;
  for (;; ++nth) {
    disk_.clear_faults();
    disk_.inject({.effect = SimFault::Effect::flip_bits,
                  .kinds = static_cast<unsigned>(SimKind::read),
                  .file = "pages",
                  .nth = 2});
    disk_.inject({.kinds = static_cast<unsigned>(SimKind::read),
                  .file = "pages",
                  .nth = nth,
                  .for_good = true});
    const auto error = error_of([&] { static_cast<void>(back_up()); });
    copy_.set_hook({});
    if (!error) {
      break;
    }
    ASSERT_EQ(*error, ErrorCode::io_error) << nth;
  }
  EXPECT_GT(nth, 8U);
  disk_.clear_faults();
}

TEST_F(Backups, AFileThatHasFailedIsNotCopied) {
  commit(10);
  database_->file().fail("a write in place has failed twice");  // it may be torn
  EXPECT_EQ(error_of([&] { static_cast<void>(back_up()); }), ErrorCode::failed);
  EXPECT_TRUE(files_of_copy().empty());
}

TEST_F(Backups, DamagedPagesAreCountedOnce) {
  commit(40);
  database_->close();
  open();
  const std::uint64_t page_bytes = database_->file().page_size_bytes();
  std::uint64_t damaged = 0;
  for (std::uint64_t page = database_->file().page_count() - 1; damaged < 20; --page) {
    if (database_->space().is_logged(PageId{page})) {
      const std::array<std::byte, 16> garbage{std::byte{0x5a}};
      disk_.overwrite("pages", page * page_bytes + page_bytes / 2, garbage);
      ++damaged;
    }
  }
  EXPECT_EQ(back_up().damaged_pages, damaged);
}

// Failures

TEST_F(Backups, OnlyAnEmptyDirectoryIsTaken) {
  commit(5);
  static_cast<void>(back_up());
  const auto files = files_of_copy();
  EXPECT_EQ(error_of([&] { static_cast<void>(back_up()); }), ErrorCode::already_exists);
  EXPECT_EQ(files_of_copy(), files);
  expect_copy(5);
}

TEST_F(Backups, AFullDiskLeavesNothing) {
  commit(60);
  copy_ = SimDisk({.capacity_bytes = 1'500'000});
  EXPECT_EQ(error_of([&] { static_cast<void>(back_up()); }), ErrorCode::no_space);
  EXPECT_TRUE(files_of_copy().empty());
  commit(5);
}

TEST_F(Backups, AnErrorOfAnyOperationLeavesNothing) {
  commit(40);
  copy_.set_hook({});
  static_cast<void>(back_up());
  const std::uint64_t operations = copy_.operations();
  for (palimpsest::test::Sweep sweep(operations, 12, 2.0); const auto nth = sweep.next();) {
    copy_ = SimDisk();
    const auto into = copy_.device();
    copy_.inject({.nth = *nth + 1});
    const auto code = error_of([&] { static_cast<void>(database_->back_up(*into, {})); });
    if (code) {
      EXPECT_EQ(code, ErrorCode::io_error) << *nth;
      copy_.clear_faults();
      EXPECT_TRUE(files_of_copy().empty()) << *nth;
    }
  }
  commit(5);
}

TEST_F(Backups, TheProgressFunctionMayCancelIt) {
  commit(40);
  const BackupOptions options{
      .progress = [](const BackupProgress&) { throw std::runtime_error("enough"); }};
  EXPECT_THROW(static_cast<void>(back_up({}, options)), std::runtime_error);
  EXPECT_TRUE(files_of_copy().empty());
  copy_.set_hook({});
  static_cast<void>(back_up());
  expect_copy(40);
}

TEST_F(Backups, WhatIsToldEndsWithAll) {
  commit(60);
  BackupProgress last;
  const BackupReport report = back_up({}, {.progress = [&](const BackupProgress& progress) {
                                        EXPECT_LE(progress.bytes_copied, progress.bytes_total);
                                        EXPECT_GE(progress.bytes_copied, last.bytes_copied);
                                        last = progress;
                                      }});
  EXPECT_GE(last.bytes_copied, report.page_bytes);
}

// A power failure at any moment leaves no database, or a complete one.
TEST_F(Backups, AnInterruptedOneIsNoDatabase) {
  commit(40);
  std::vector<SimDisk> images;
  {
    const auto into = copy_.device();
    std::uint64_t seed = palimpsest::test::seed();
    copy_.set_hook([&](const SimOperation&) { images.push_back(copy_.crash(++seed)); });
    static_cast<void>(database_->back_up(*into, {}));
    copy_.set_hook({});
  }
  images.push_back(copy_.crash(1));
  EngineOptions options = small_options();
  options.create_if_missing = false;
  for (palimpsest::test::Sweep sweep(images.size(), 20, 2.0); const auto at = sweep.next();) {
    const auto device = images[*at].device();
    std::unique_ptr<Engine> opened;
    const auto code = error_of([&] { opened = Engine::open(*device, *device, options); });
    if (code) {
      EXPECT_TRUE(code == ErrorCode::not_found || code == ErrorCode::not_a_database) << *at;
      continue;
    }
    EXPECT_TRUE(writer_.explains(content_of(*opened->find_tree("records")), 40)) << *at;
  }
  EXPECT_TRUE(writer_.explains(OpenedCopy(images.back()).content(), 40));
}

TEST_F(Backups, NoDatabaseIsMadeOfAnInterruptedOne) {
  commit(10);
  std::optional<SimDisk> image;
  copy_.set_hook([&](const SimOperation& operation) {
    if (operation.kind == SimKind::sync && operation.file == "log-0001") {
      image = copy_.crash(1, CrashKeeps::everything);
    }
  });
  {
    const auto into = copy_.device();
    static_cast<void>(database_->back_up(*into, {}));
  }
  ASSERT_TRUE(image);
  const auto device = image->device();
  EXPECT_EQ(error_of([&] { static_cast<void>(Engine::open(*device, *device, small_options())); },
                     "interrupted"),
            ErrorCode::not_a_database);
}

TEST_F(Backups, OneAtATime) {
  commit(40);
  std::optional<ErrorCode> second;
  std::optional<ErrorCode> closing;
  static_cast<void>(back_up([&] {
    std::thread other([&] {
      SimDisk disk;
      const auto into = disk.device();
      second = error_of([&] { static_cast<void>(database_->back_up(*into, {})); });
      closing = error_of([&] { database_->close(); });
    });
    other.join();
  }));
  EXPECT_EQ(second, ErrorCode::locked);
  EXPECT_EQ(closing, ErrorCode::invalid_argument);
  expect_copy(40);
}

#ifdef PALIMPSEST_SYNC_POINTS

// It would commit within the log's copy, and its pages would be missing.
TEST_F(Backups, NothingIsWrittenPastTheLogWhileTheRestIsRead) {
  commit(20);
  std::thread other;
  std::atomic<bool> has_committed{false};
  {
    const SyncHook paused("engine.backup.paused", [&] {
      other = std::thread([&] {
        const auto transaction = database_->begin();
        static_cast<void>(
            transaction->insert(*database_->find_tree("records"), "z", std::string(9'000, 'z')));
        transaction->commit();
        has_committed.store(true);
        has_committed.notify_all();
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the longest that it may take
      EXPECT_FALSE(has_committed.load());
    });
    static_cast<void>(back_up());
    EXPECT_EQ(paused.hits(), 1U);
  }
  other.join();
  EXPECT_TRUE(has_committed.load());
  expect_copy(20);
}

// A write that has begun before its page is copied, and ends after it.
TEST_F(Backups, AWriteUnderWayIsCopiedAgain) {
  commit(20);
  database_->log().write_pending();  // or a round stands at the barrier
  std::optional<SyncBarrier> in_write(std::in_place, "buffer.unlogged.written");
  std::thread other([&] {
    const auto transaction = database_->begin();
    static_cast<void>(
        transaction->insert(*database_->find_tree("records"), "z", std::string(300'000, 'z')));
    transaction->commit();
  });
  in_write->wait_until_reached();
  {
    const SyncHook copied("engine.backup.pages_copied", [&] { in_write->release(); });
    const BackupReport report = back_up();
    EXPECT_GE(report.page_bytes_again, 300'000U);
  }
  in_write.reset();
  other.join();
  expect_copy(20);
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
