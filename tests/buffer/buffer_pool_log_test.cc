// The buffer pool with a log: freed pages wait for their record, a checkpoint collects all that it
// needs, and after a failure of the log the pages in memory stay readable.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/sync_point.h"
#include "buffer/page_header.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/error_of.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::buffer {
namespace {

class BufferPoolLog : public palimpsest::test::InterleavingTest {
 public:
  // Before the log is destroyed.
  ~BufferPoolLog() override { database_.reset(); }

 protected:
  BufferPoolLog() : open_(*device_), slot_(open_.claim()) {
    database_->writer().log_with(open_.log());
    database_->space().log_with(open_.log());
  }

  Gsn append() { return open_.change(slot_, ++number_, 40, Gsn{0}).gsn; }
  [[nodiscard]] BufferPool& pool() { return database_->pool(); }
  [[nodiscard]] ExclusivePage leaf(std::uint64_t record) {
    return tree().descent().node<ExclusivePage>(btree::Target{key_of(record)}, 0);
  }
  static void set_gsn(ExclusivePage& page, Gsn gsn) {
    std::memcpy(page.modify() + offsetof(PageHeader, gsn), &gsn, sizeof gsn);
  }
  [[nodiscard]] Gsn gsn_on_disk(PageId page) {
    const AlignedMemory image(kOptions.page_size_bytes, kOptions.page_size_bytes);
    database_->file().read_page(page, image.bytes());
    return header_of(image.bytes()).gsn;
  }

  palimpsest::wal::test::OpenLog open_;
  SlotId slot_;
  std::uint64_t number_ = 0;
};

TEST_F(BufferPoolLog, FreedPageIsNotReusedBeforeItsRecordIsDurable) {
  PageReservation reservation = pool().reserve(1);
  ExclusivePage parent = tree().descent().node<ExclusivePage>(btree::Target{key_of(0)}, 1);
  ExclusivePage page = pool().new_page(reservation, PageType::tree_leaf, parent);
  parent.release();
  const PageId id = page.frame().page_id.load();
  Gsn freed{0};
  {
    auto change = database_->space().change();
    const Gsn taken = append();
    change.take({id, 1}, taken);
    freed = append();
    change.give({id, 1}, freed);
  }
  set_gsn(page, freed);
  pool().free_page(std::move(page));
  ASSERT_LT(open_.log().durable_gsn(), freed);
  database_->space().complete_frees();
  EXPECT_TRUE(database_->space().is_allocated(id));
  open_.log().wait_durable(freed);
  database_->space().complete_frees();
  EXPECT_FALSE(database_->space().is_allocated(id));
}

TEST_F(BufferPoolLog, UnusedReservationsAreFreeAtOnce) {
  const std::uint64_t before = database_->space().counts().allocated;
  static_cast<void>(append());
  static_cast<void>(pool().reserve(3));
  EXPECT_EQ(database_->space().counts().allocated, before);
}

TEST_F(BufferPoolLog, PagesAreWrittenBehindTheLog) {
  ExclusivePage page = leaf(100);
  const PageId id = page.frame().page_id.load();
  const Gsn gsn = append();
  set_gsn(page, gsn);
  page.release();
  ASSERT_LT(open_.log().durable_gsn(), gsn);
  pool().flush();
  EXPECT_GE(open_.log().durable_gsn(), gsn);
  EXPECT_EQ(gsn_on_disk(id), gsn);
}

TEST_F(BufferPoolLog, CheckpointCollectsAPageWhoseRecordIsAppendedBeforeItIsMarked) {
  pool().flush();
  ASSERT_TRUE(pool().unwritten_frames().empty());
  ExclusivePage page = leaf(100);
  const FrameIndex frame = pool().index_of(page.frame());
  const PageId id = page.frame().page_id.load();
  const Gsn gsn = append();
  const wal::LogStart start = open_.log().current_start();  // behind the record
  const std::vector<FrameIndex> collected = pool().unwritten_frames();
  set_gsn(page, gsn);
  page.release();
  EXPECT_NE(std::ranges::find(collected, frame), collected.end());
  pool().write(collected);
  database_->writer().harden();
  open_.log().move_start(start, "", false);
  EXPECT_EQ(gsn_on_disk(id), gsn);
}

#ifdef PALIMPSEST_SYNC_POINTS

// A page that is being written when it is collected: the write of its image fails, then it is dirty
// again, and write() writes it.
TEST_F(BufferPoolLog, CheckpointCollectsAPageThatIsBeingWritten) {
  ASSERT_TRUE(tree().update(key_of(0), new_value(0)));
  pool().flush();  // the file is marked as open: a failure there would be final
  ExclusivePage page = leaf(100);
  const FrameIndex frame = pool().index_of(page.frame());
  const PageId id = page.frame().page_id.load();
  const Gsn gsn = append();
  set_gsn(page, gsn);
  page.release();
  std::vector<FrameIndex> collected;
  {
    const palimpsest::SyncHook hook("buffer.writer.log_durable", [&] {
      collected = pool().unwritten_frames();
      disk_.inject({.kinds = static_cast<unsigned>(palimpsest::test::SimKind::write)});
    });
    EXPECT_THROW(pool().flush(), Error);
  }
  EXPECT_EQ(collected, std::vector<FrameIndex>{frame});
  pool().write(collected);
  EXPECT_EQ(gsn_on_disk(id), gsn);
}

#endif

TEST_F(BufferPoolLog, FailedLogLetsCleanPagesBeRead) {
  constexpr std::uint64_t kChanged = 500;  // in all frames but a few
  pool().flush();
  const Gsn gsn = append();
  for (std::uint64_t i = 0; i < kChanged; ++i) {
    if (i == 0) {
      open_.log().fail("the test says so");
    }
    ASSERT_TRUE(tree().update(key_of(i), new_value(i)));
    ExclusivePage page = leaf(i);
    set_gsn(page, gsn);
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(value_of(i), i < kChanged ? new_value(i) : old_value(i));
  }
  std::string message;
  EXPECT_EQ(palimpsest::test::error_of([&] { pool().flush(); }, &message), ErrorCode::failed);
  EXPECT_NE(message.find("the test says so"), std::string::npos);
  EXPECT_FALSE(database_->file().failed());
}

}  // namespace
}  // namespace palimpsest::buffer
