// The page writer's batches: what they write, in which order, and what is readable when.
#include "buffer/page_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "buffer/space_map.h"
#include "bulk/fresh_writer.h"
#include "tests/buffer/page_workload.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageImage;
using buffer::PageWriter;
using buffer::SpaceMap;

constexpr std::size_t kPageSize = 4096;
constexpr std::uint64_t kRing = 65536;
constexpr std::uint64_t kSlotBytes = std::uint64_t{64} * kPageSize;

class PageWriterTest : public testing::Test {
 public:
  ~PageWriterTest() override { disk_.set_hook({}); }

 protected:
  explicit PageWriterTest(const SimOptions& options = {})
      : disk_(options), device_(disk_.device()) {
    file_ = PageFile::create(*device_, buffer::kPageFileName,
                             {.page_size_bytes = kPageSize, .ring_batches = 2, .batch_pages = 64});
    writer_ = std::make_unique<PageWriter>(*file_);
    map_ = std::make_unique<SpaceMap>(*file_);
    for (int i = 0; i < 100; ++i) {
      pages_.push_back(map_->allocate(0));
    }
    writer_->harden();
    disk_.set_hook([this](const SimOperation& operation) {
      if (operation.kind == SimKind::sync) {
        trace_.emplace_back("sync");
      } else if (operation.kind == SimKind::write && operation.offset_bytes >= kRing) {
        const bool in_ring = operation.offset_bytes < kRing + 2 * kSlotBytes;
        trace_.push_back(
            (in_ring ? "ring " + std::to_string((operation.offset_bytes - kRing) / kSlotBytes)
                     : "page " + std::to_string(operation.offset_bytes / kPageSize)) +
            " x" + std::to_string(operation.size_bytes / kPageSize));
      }
    });
  }

  void fill(PageWriter::Batch& batch, PageId id, std::uint64_t version) {
    fill_image({batch.slot(), kPageSize}, id, version);
    batch.add(id);
  }
  void write(const std::vector<PageId>& pages, std::uint64_t version) {
    PageWriter::Batch batch = writer_->begin_batch();
    for (const PageId id : pages) {
      fill(batch, id, version);
    }
    batch.write();
  }
  std::optional<std::uint64_t> version(PageId id) {
    const AlignedMemory memory(kPageSize, kPageSize);
    file_->read_page(id, memory.bytes());
    return version_of(memory.bytes(), id);
  }
  std::string page(std::size_t index) { return "page " + std::to_string(raw(pages_[index])); }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<PageWriter> writer_;
  std::unique_ptr<SpaceMap> map_;
  std::vector<PageId> pages_;
  std::vector<std::string> trace_;
};

class AtomicPageWriterTest : public PageWriterTest {
 protected:
  AtomicPageWriterTest() : PageWriterTest({.atomic_write_bytes_max = kPageSize}) {}
};

TEST_F(PageWriterTest, CopyThenSyncThenInPlace) {
  write({pages_[0], pages_[2]}, 1);
  EXPECT_THAT(trace_, testing::ElementsAre("ring 0 x2", "sync", testing::_, testing::_));
  EXPECT_THAT(trace_, testing::IsSupersetOf({page(0) + " x1", page(2) + " x1"}));
  trace_.clear();
  write({pages_[4], pages_[5]}, 2);  // neighbours go in place together
  write({pages_[0]}, 3);
  EXPECT_THAT(trace_, testing::ElementsAre("ring 1 x2", "sync", page(4) + " x2", "ring 0 x1",
                                           "sync", page(0) + " x1"));
  EXPECT_EQ(version(pages_[0]), 3U);
  EXPECT_EQ(version(pages_[2]), 1U);
  EXPECT_EQ(version(pages_[5]), 2U);
}

TEST_F(PageWriterTest, HardenedTrailsWritten) {
  write({pages_[0]}, 1);
  const std::uint64_t first = writer_->written_batch();
  EXPECT_LT(writer_->hardened_batch(), first);
  write({pages_[1]}, 2);
  EXPECT_EQ(writer_->hardened_batch(), first);
  EXPECT_GT(writer_->written_batch(), first);
  writer_->harden();
  EXPECT_EQ(writer_->hardened_batch(), writer_->written_batch());
  const buffer::PageWriterStatistics statistics = writer_->statistics();
  EXPECT_EQ(statistics.batches, 2U);
  EXPECT_EQ(statistics.pages_copied, 2U);
  EXPECT_EQ(statistics.pages_in_place, 2U);
  EXPECT_EQ(statistics.syncs, 4U);  // one in the fixture, one a batch, one now
  EXPECT_EQ(statistics.bytes_written, 4 * kPageSize);
}

TEST_F(PageWriterTest, BatchIsFullAtItsLimitAndDroppedUnlessWritten) {
  PageWriter::Batch batch = writer_->begin_batch();
  for (std::size_t i = 0; i < writer_->batch_pages(); ++i) {
    ASSERT_NE(batch.slot(), nullptr);
    fill(batch, pages_[i], 10 + i);
  }
  EXPECT_EQ(batch.slot(), nullptr);
  EXPECT_EQ(batch.pages().size(), 64U);
  EXPECT_EQ(batch.newest_gsn(), Gsn{73});
  batch.write();
  EXPECT_EQ(batch.number(), writer_->written_batch());
  EXPECT_EQ(batch.slot(), nullptr);
  EXPECT_EQ(version(pages_[63]), 73U);
  {
    PageWriter::Batch moved = std::move(batch);
  }
  trace_.clear();
  {
    PageWriter::Batch dropped = writer_->begin_batch();
    fill(dropped, pages_[0], 99);
  }
  writer_->begin_batch().write();  // empty
  EXPECT_THAT(trace_, testing::IsEmpty());
  EXPECT_EQ(version(pages_[0]), 10U);
}

TEST_F(PageWriterTest, FreshPagesGoInPlaceInLongTransfers) {
  const AlignedMemory memory(6 * kPageSize, kPageSize);
  std::vector<PageImage> images;
  for (std::size_t i = 0; i < 6; ++i) {
    const PageId id = pages_[i < 4 ? i : i + 10];
    const MutableBytes image = memory.bytes().subspan(i * kPageSize, kPageSize);
    fill_image(image, id, 5);
    images.push_back({id, image});
  }
  writer_->write_fresh(images);
  EXPECT_THAT(trace_, testing::UnorderedElementsAre(page(0) + " x4", page(14) + " x2"));
  EXPECT_EQ(version(pages_[15]), 5U);
}

/// Fresh pages in memory that is reused, as FreshWriter's owners do it.
class FreshPages {
 public:
  static constexpr std::size_t kInMemory = 3;

  [[nodiscard]] std::span<const PageImage> of(PageId id, std::uint64_t version) {
    turn_ = (turn_ + 1) % kInMemory;
    const MutableBytes image = memory_.bytes().subspan(turn_ * kPageSize, kPageSize);
    fill_image(image, id, version);
    images_[turn_] = {id, image};
    return {&images_[turn_], 1};
  }

 private:
  AlignedMemory memory_{kInMemory * kPageSize, kPageSize};
  std::array<PageImage, kInMemory> images_{};
  std::size_t turn_ = 0;
};

TEST_F(PageWriterTest, FreshPagesAreWrittenBesideTheirOwner) {
  FreshPages pages;
  bulk::FreshWriter beside(*writer_);
  for (std::size_t i = 0; i < 50; ++i) {
    beside.await(FreshPages::kInMemory - 1);
    beside.begin(pages.of(pages_[i], i + 1));
  }
  beside.await(0);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(version(pages_[i]), i + 1);
  }
  EXPECT_EQ(writer_->statistics().pages_fresh, 50U);
}

TEST_F(PageWriterTest, WhatWasBegunIsDoneInOrder) {
  FreshPages pages;
  bulk::FreshWriter beside(*writer_);
  trace_.clear();
  beside.begin(pages.of(pages_[0], 1));
  beside.begin_harden();
  beside.begin(pages.of(pages_[2], 1));
  beside.await(0);
  EXPECT_THAT(trace_, testing::ElementsAre(page(0) + " x1", "sync", page(2) + " x1"));
}

TEST_F(PageWriterTest, FreshPagesThatCannotBeWrittenAreToldOnce) {
  FreshPages pages;
  bulk::FreshWriter beside(*writer_);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write), .nth = 2, .for_good = true});
  beside.begin(pages.of(pages_[0], 1));
  beside.begin(pages.of(pages_[1], 1));
  beside.begin(pages.of(pages_[2], 1));
  EXPECT_EQ(error_of([&] {
              beside.await(2);
              beside.await(0);
            }),
            ErrorCode::io_error);
  disk_.clear_faults();
  EXPECT_EQ(version(pages_[0]), 1U);
  EXPECT_EQ(writer_->statistics().pages_fresh, 1U) << "nothing is written behind a failure";
  beside.begin(pages.of(pages_[3], 1));
  beside.await(0);
  EXPECT_EQ(version(pages_[3]), 1U);
}

TEST_F(PageWriterTest, AFailureIsNotToldOfWhatWasDropped) {
  FreshPages pages;
  bulk::FreshWriter beside(*writer_);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write)});
  beside.begin(pages.of(pages_[0], 1));
  beside.begin(pages.of(pages_[1], 1));
  beside.drop();
  disk_.clear_faults();
  beside.begin(pages.of(pages_[2], 1));
  beside.await(0);
  EXPECT_EQ(version(pages_[2]), 1U);
}

TEST_F(PageWriterTest, AFailedCopyChangesNothingAndIsFollowedByASync) {
  write({pages_[0]}, 1);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write)});
  EXPECT_THROW(write({pages_[0]}, 2), Error);
  EXPECT_FALSE(file_->failed());
  EXPECT_EQ(version(pages_[0]), 1U);
  trace_.clear();
  write({pages_[0]}, 3);
  EXPECT_THAT(trace_, testing::ElementsAre("sync", "ring 1 x1", "sync", page(0) + " x1"));
}

TEST_F(PageWriterTest, InPlaceWriteIsRepeatedOnce) {
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write), .nth = 2});
  write({pages_[0]}, 1);
  EXPECT_EQ(version(pages_[0]), 1U);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write), .nth = 2, .for_good = true});
  EXPECT_THROW(write({pages_[0]}, 2), Error);
  EXPECT_TRUE(file_->failed());
}

TEST_F(AtomicPageWriterTest, WritesInPlaceOnly) {
  EXPECT_TRUE(writer_->atomic_writes());
  write({pages_[4], pages_[5]}, 1);
  EXPECT_THAT(trace_, testing::UnorderedElementsAre(page(4) + " x1", page(5) + " x1"));
  EXPECT_LT(writer_->hardened_batch(), writer_->written_batch());
  writer_->harden();
  EXPECT_EQ(writer_->hardened_batch(), writer_->written_batch());
  EXPECT_EQ(writer_->statistics().pages_copied, 0U);
}

TEST_F(PageWriterTest, ManyThreadsTakeTurns) {
  constexpr std::size_t kThreads = 6;
  constexpr std::uint64_t kRounds = 40;
  disk_.set_hook({});
  run_threads(kThreads, [&](std::size_t thread) {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      PageWriter::Batch batch = writer_->begin_batch();
      for (std::size_t i = thread; i < 30; i += kThreads) {
        fill_image({batch.slot(), kPageSize}, pages_[i], round);
        batch.add(pages_[i]);
      }
      batch.write();
    }
    writer_->harden();
  });
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(version(pages_[i]), kRounds);
  }
  EXPECT_EQ(writer_->statistics().batches, kThreads * kRounds);
}

}  // namespace
}  // namespace palimpsest::test
