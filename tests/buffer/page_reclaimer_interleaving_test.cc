// Changes, frees and evictions of pages while their images are being written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/sync_point.h"
#include "buffer/file_header.h"
#include "buffer/page_reclaimer.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"

namespace palimpsest::buffer {
namespace {

using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using palimpsest::test::TreeDatabase;

/// Stops the first write of pages, not of the file's header, until released.
class StoppedWrite {
 public:
  explicit StoppedWrite(palimpsest::test::SimDisk& disk) : disk_(disk) {
    disk_.set_hook([this](const SimOperation& operation) {
      if (operation.kind == SimKind::write && operation.offset_bytes >= kHeaderAreaBytes) {
        stop();
      }
    });
  }
  ~StoppedWrite() { disk_.set_hook({}); }

  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  void stop() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return released_; });
  }

  palimpsest::test::SimDisk& disk_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  bool released_ = false;
};

class PageReclaimerInterleaving : public palimpsest::test::InterleavingTest {
 protected:
  /// Runs `meanwhile` while a flush of all dirty pages is stopped in its first write.
  template <class Meanwhile>
  void during_flush(Meanwhile meanwhile) {
    StoppedWrite write(disk_);
    std::thread flusher([&] { database_->pool().flush(); });
    write.wait_until_reached();
    meanwhile();
    write.release();
    flusher.join();
  }
  [[nodiscard]] std::set<PageId> leaves_of(std::uint64_t first, std::uint64_t last) {
    std::set<PageId> pages;
    for (std::uint64_t i = first; i < last; ++i) {
      pages.insert(leaf_of(i).page);
    }
    return pages;
  }
  void reopen() {
    database_->close();
    database_.reset();
    database_ = TreeDatabase::open(*device_, kOptions);
  }
};

TEST_F(PageReclaimerInterleaving, PageChangedDuringItsWriteIsWrittenAgain) {
  ASSERT_TRUE(tree().update(key_of(10), new_value(10)));
  during_flush([&] { ASSERT_TRUE(tree().update(key_of(11), new_value(11))); });
  reopen();
  EXPECT_EQ(value_of(10), new_value(10));
  EXPECT_EQ(value_of(11), new_value(11));
}

// A free page id may be allocated and written; so it is not free before the write ends.
TEST_F(PageReclaimerInterleaving, PageFreedDuringItsWriteKeepsItsId) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(tree().update(key_of(i), new_value(i)));
  }
  std::set<PageId> freed;
  during_flush([&] {
    const std::set<PageId> before = leaves_of(0, 100);
    for (std::uint64_t i = 1; i < 99; ++i) {
      ASSERT_TRUE(tree().remove(key_of(i)));
    }
    freed = before;
    for (const PageId page : leaves_of(0, 100)) {
      freed.erase(page);
    }
    ASSERT_GE(freed.size(), 5U);
    for (const PageId page : freed) {
      EXPECT_TRUE(database_->space().is_allocated(page)) << raw(page);
    }
  });
  for (const PageId page : freed) {
    EXPECT_FALSE(database_->space().is_allocated(page)) << raw(page);
  }
  EXPECT_TRUE(palimpsest::test::sound(*database_));
  reopen();
  EXPECT_EQ(value_of(0), new_value(0));
  EXPECT_EQ(value_of(50), "absent");
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// Until the write has ended the disk holds the old image: after an eviction, a read would find
// that.
TEST_F(PageReclaimerInterleaving, PageStaysInMemoryDuringItsWrite) {
  ASSERT_TRUE(tree().update(key_of(500), new_value(500)));
  during_flush([&] {
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::uint64_t other = i * 7 % kRecords;
      if (other / 50 != 10) {
        ASSERT_EQ(value_of(other), old_value(other));
      }
    }
    EXPECT_TRUE(resident(500));
    EXPECT_EQ(value_of(500), new_value(500));
  });
  ASSERT_NO_FATAL_FAILURE(evict(500));  // now it can be evicted
  EXPECT_EQ(value_of(500), new_value(500));
}

// A failed write leaves its pages dirty: nothing is lost when the disk recovers.
TEST_F(PageReclaimerInterleaving, FailedWriteLosesNothing) {
  for (std::uint64_t i = 0; i < kRecords; i += 100) {
    ASSERT_TRUE(tree().update(key_of(i), new_value(i)));
  }
  database_->pool().flush();  // the file is marked as open: a failure there would be final
  ASSERT_TRUE(tree().update(key_of(50), new_value(50)));
  disk_.inject({.error = ENOSPC, .kinds = unsigned(SimKind::write), .nth = 1});
  EXPECT_THROW(database_->pool().flush(), Error);
  reopen();
  for (std::uint64_t i = 0; i < kRecords; i += 100) {
    EXPECT_EQ(value_of(i), new_value(i));
  }
  EXPECT_EQ(value_of(50), new_value(50));
}

#ifdef PALIMPSEST_SYNC_POINTS

/// A flush that collects its pages while another one's write of the same page is under way, and
/// that write then fails.
class SecondFlush : public PageReclaimerInterleaving {
 protected:
  /// Whether each of the two succeeded. The fault applies from the first write on.
  struct Outcome {
    bool first = false;
    bool second = false;
  };
  [[nodiscard]] Outcome run(const palimpsest::test::SimFault& fault) {
    EXPECT_TRUE(tree().update(key_of(50), new_value(50)));
    database_->pool().flush();  // the file is marked as open: a failure there would be final
    EXPECT_TRUE(tree().update(key_of(10), new_value(10)));
    page_ = leaf_of(10).page;
    disk_.inject(fault);
    Outcome outcome;
    StoppedWrite write(disk_);
    std::thread first([&] { outcome.first = succeeds(); });
    write.wait_until_reached();
    SyncBarrier collected("buffer.flush.collected");
    std::thread second([&] { outcome.second = succeeds(); });
    collected.wait_until_reached();
    write.release();
    first.join();
    collected.release();
    second.join();
    return outcome;
  }

  /// Whether the page on disk holds the change.
  [[nodiscard]] bool change_is_on_disk() {
    const AlignedMemory image(kOptions.page_size_bytes, kOptions.page_size_bytes);
    database_->file().read_page(page_, image.bytes());
    const auto* bytes = static_cast<const char*>(static_cast<const void*>(image.bytes().data()));
    return ByteView(bytes, kOptions.page_size_bytes).find(new_value(10)) != ByteView::npos;
  }

 private:
  bool succeeds() {
    try {
      database_->pool().flush();
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  PageId page_ = kNoPage;
};

TEST_F(SecondFlush, WritesWhatTheFirstFailedToWrite) {
  const Outcome outcome = run({.error = ENOSPC, .kinds = unsigned(SimKind::write), .nth = 1});
  EXPECT_FALSE(outcome.first);
  EXPECT_TRUE(outcome.second);
  EXPECT_TRUE(change_is_on_disk());
}

TEST_F(SecondFlush, FailsIfItCannotWriteEither) {
  const Outcome outcome =
      run({.error = ENOSPC, .kinds = unsigned(SimKind::write), .nth = 1, .for_good = true});
  EXPECT_FALSE(outcome.first);
  EXPECT_FALSE(outcome.second);
  EXPECT_FALSE(change_is_on_disk());
  disk_.clear_faults();
  database_->pool().flush();
  EXPECT_TRUE(change_is_on_disk());
}

#endif

// A remembered leaf that was evicted, or freed by a merge, is not mistaken for the former leaf.
TEST_F(PageReclaimerInterleaving, LastLeafForgetsEvictedAndFreedPages) {
  btree::LastLeaf last;
  std::string value;
  ASSERT_TRUE(tree().lookup(key_of(500), value, &last));
  ASSERT_NO_FATAL_FAILURE(evict(500));
  ASSERT_TRUE(tree().update(key_of(500), new_value(500)));
  ASSERT_TRUE(tree().lookup(key_of(500), value, &last));
  EXPECT_EQ(value, new_value(500));
  for (std::uint64_t i = 400; i < 600; ++i) {  // merges, the remembered leaf among them
    ASSERT_TRUE(tree().remove(key_of(i)));
  }
  EXPECT_FALSE(tree().lookup(key_of(500), value, &last));
  ASSERT_TRUE(tree().insert(key_of(500), old_value(500), &last));
  EXPECT_EQ(value_of(500), old_value(500));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

/// Many threads that search for frames visit the same few parents, so that one is always latched.
/// Simulates that by a thread that never releases the parent's shared latch unless a writer waits.
class BusyParent {
 public:
  explicit BusyParent(HybridLatch& latch) PALIMPSEST_NO_ANALYSIS : latch_(latch) {
    latch_.lock_shared();
    holder_ = std::jthread([this](const std::stop_token& enough) { hold(enough); });
  }

 private:
  void hold(const std::stop_token& enough) PALIMPSEST_NO_ANALYSIS {
    while (!enough.stop_requested()) {
      if (latch_.try_lock_shared()) {
        latch_.unlock_shared();
      } else {
        latch_.unlock_shared();
        latch_.lock_shared();
      }
    }
    latch_.unlock_shared();
  }

  HybridLatch& latch_;
  std::jthread holder_;
};

// No load waits for the parent's exclusive latch, only an eviction below it.
TEST_F(PageReclaimerInterleaving, FramesAreFreedBelowAParentThatIsNeverLeftAlone) {
  for (std::uint64_t i = 0; i < kRecords; ++i) {  // until every frame is in use
    ASSERT_EQ(value_of(i), old_value(i));
  }
  const BusyParent busy(
      tree().descent().node<SharedPage>(btree::Target{key_of(0)}, 1).frame().latch);
  const PageReservation reservation = database_->pool().reserve(kOptions.frames / 2);
  EXPECT_EQ(reservation.count(), kOptions.frames / 2);
}

// A failed file is not written any more. Reads use the frames of clean pages; the dirty ones stay,
// and a writer gets the reason of the failure.
TEST_F(PageReclaimerInterleaving, FailedFileIsReadInTheFramesOfCleanPages) {
  constexpr std::uint64_t kChanged = 500;  // in all frames but a few
  for (std::uint64_t i = 0; i < kChanged; ++i) {
    ASSERT_TRUE(tree().update(key_of(i), new_value(i)));
  }
  database_->file().fail("the test says so");
#ifdef PALIMPSEST_SYNC_POINTS
  const SyncHook sleeps("buffer.provider.sleeps", [] {});
#endif
  const auto read_all = [&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      ASSERT_EQ(value_of(i), i < kChanged ? new_value(i) : old_value(i));
    }
  };
  for (std::uint64_t round = 0; round < 3; ++round) {
    read_all();
  }
#ifdef PALIMPSEST_SYNC_POINTS
  // By now the reclaimer has tried every frame; further reads wake it.
  const std::uint64_t slept = sleeps.hits();
  EXPECT_TRUE(palimpsest::test::eventually([&] { return read_all(), sleeps.hits() > slept; }))
      << "frames are looked for all the time, where there are none";
#endif
  std::string message;
  EXPECT_EQ(palimpsest::test::error_of([&] { database_->pool().flush(); }, &message),
            ErrorCode::failed);
  EXPECT_THAT(message, ::testing::HasSubstr("the test says so"));
}

}  // namespace
}  // namespace palimpsest::buffer
