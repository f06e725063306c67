// I-2 at the page writer: nothing is written before the log is durable up to it.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/aligned_memory.h"
#include "buffer/page_header.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "tests/support/error_of.h"
#include "tests/support/sim_disk.h"
#include "tests/support/thread_group.h"
#include "tests/wal/log_fixture.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageHeader;
using buffer::PageType;
using buffer::PageWriter;

constexpr std::size_t kPageSize = 4096;
constexpr std::uint64_t kRingBegin = 65536;

class PageWriterLog : public ::testing::TestWithParam<std::size_t> {
 public:
  ~PageWriterLog() override { disk_.set_write_checker({}); }

 protected:
  PageWriterLog()
      : disk_({.atomic_write_bytes_max = GetParam()}), device_(disk_.device()), open_(*device_) {
    file_ = PageFile::create(*device_, "pages",
                             {.page_size_bytes = kPageSize, .ring_batches = 2, .batch_pages = 64});
    buffer::SpaceMap map(*file_);
    for (int i = 0; i < 8; ++i) {
      pages_.push_back(map.allocate(0));
    }
    writer_ = std::make_unique<PageWriter>(*file_, &open_.log());
    writer_->harden();
    disk_.set_write_checker([this](std::string_view file, std::uint64_t offset, ConstBytes bytes) {
      for (std::size_t at = 0; file == "pages" && offset >= kRingBegin && at < bytes.size();
           at += kPageSize) {
        const PageHeader header = buffer::header_of(bytes.subspan(at, kPageSize));
        EXPECT_LE(header.gsn, open_.log().durable_gsn()) << "page " << raw(header.page_id);
        ++written_;
      }
    });
  }

  Gsn append(SlotId slot) { return open_.change(slot, ++number_, 40, Gsn{0}).gsn; }
  static void fill(MutableBytes image, PageId id, Gsn gsn) {
    std::memset(image.data(), 7, image.size());
    PageHeader header{};
    header.page_id = id;
    header.gsn = gsn;
    header.type = PageType::tree_leaf;
    std::memcpy(image.data(), &header, sizeof header);
  }
  void write(const std::vector<std::pair<PageId, Gsn>>& images) {
    PageWriter::Batch batch = writer_->begin_batch();
    for (const auto& [id, gsn] : images) {
      fill({batch.slot(), kPageSize}, id, gsn);
      batch.add(id);
    }
    batch.write();
  }
  [[nodiscard]] Gsn gsn_on_disk(PageId id) {
    const AlignedMemory memory(kPageSize, kPageSize);
    file_->read_page(id, memory.bytes());
    return buffer::header_of(memory.bytes()).gsn;
  }
  [[nodiscard]] Gsn durable() { return open_.log().durable_gsn(); }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  wal::test::OpenLog open_;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<PageWriter> writer_;
  std::vector<PageId> pages_;
  std::atomic<std::uint64_t> number_{0};
  std::atomic<std::uint64_t> written_{0};
};

TEST_P(PageWriterLog, BatchWaitsForTheNewestOfItsImages) {
  const SlotId slot = open_.claim();
  const Gsn first = append(slot);
  const Gsn second = append(slot);
  ASSERT_LT(durable(), first);
  write({{pages_[0], second}, {pages_[1], first}, {pages_[2], Gsn{0}}});
  EXPECT_GE(durable(), second);
  EXPECT_EQ(gsn_on_disk(pages_[0]), second);
  EXPECT_GE(written_.load(), 3U) << "the checker has seen them";
}

TEST_P(PageWriterLog, NoRoundForWhatIsDurable) {
  const SlotId slot = open_.claim();
  const Gsn first = append(slot);
  open_.log().wait_durable(first);
  const Gsn second = append(slot);
  const std::uint64_t rounds = open_.log().statistics().rounds;
  write({{pages_[0], first}});
  EXPECT_EQ(open_.log().statistics().rounds, rounds);
  EXPECT_LT(durable(), second);
}

// No record has such a GSN: only a forged page can.
TEST_P(PageWriterLog, AGsnBeyondTheClockIsNotWaitedForInVain) {
  const Gsn beyond{raw(append(open_.claim())) + 1'000'000};
  write({{pages_[0], beyond}});
  EXPECT_GE(durable(), beyond);
}

TEST_P(PageWriterLog, FreshPagesNeedNoLog) {
  const Gsn gsn = append(open_.claim());
  const AlignedMemory memory(kPageSize, kPageSize);
  fill(memory.bytes(), pages_[0], Gsn{0});
  const buffer::PageImage image{pages_[0], memory.bytes()};
  writer_->write_fresh({&image, 1});
  EXPECT_LT(durable(), gsn);
}

TEST_P(PageWriterLog, FailedLogLetsNothingBeWritten) {
  const SlotId slot = open_.claim();
  const Gsn old = append(slot);
  write({{pages_[0], old}});
  const Gsn gsn = append(slot);
  const std::vector<std::byte> before = disk_.contents("pages");
  disk_.inject({.error = EIO, .kinds = static_cast<unsigned>(SimKind::sync), .nth = 1});
  EXPECT_NE(error_of([&] { write({{pages_[0], gsn}}); }), std::nullopt);
  EXPECT_TRUE(open_.log().failed());
  EXPECT_TRUE(writer_->failed());
  EXPECT_EQ(error_of([&] { write({{pages_[0], gsn}}); }), ErrorCode::failed);
  EXPECT_EQ(error_of([&] { writer_->require_working(); }), ErrorCode::failed);
  EXPECT_EQ(disk_.contents("pages"), before);
  EXPECT_EQ(gsn_on_disk(pages_[0]), old);
  EXPECT_FALSE(file_->failed());
  // Also a page that needs nothing of the log: it may have been changed back without a record.
  EXPECT_EQ(error_of([&] { write({{pages_[0], old}}); }), ErrorCode::failed);
}

TEST_P(PageWriterLog, LogBeginsAfterRecoveryHasWritten) {
  PageWriter writer(*file_);
  const Gsn gsn = append(open_.claim());
  writer.log_with(open_.log());
  writer_.reset();
  PageWriter::Batch batch = writer.begin_batch();
  fill({batch.slot(), kPageSize}, pages_[3], gsn);
  batch.add(pages_[3]);
  batch.write();
  EXPECT_GE(durable(), gsn);
}

TEST_P(PageWriterLog, WritersAndAppendersDoNotWaitForEachOtherForEver) {
  std::vector<SlotId> slots(6);
  for (SlotId& slot : slots) {
    slot = open_.claim();
  }
  run_threads(slots.size(), [&](std::size_t thread) {
    for (int i = 0; i < 60; ++i) {
      const Gsn gsn = append(slots[thread]);
      if (i % 3 == 0) {
        write({{pages_[thread], gsn}});
      }
    }
  });
  EXPECT_FALSE(open_.log().failed());
}

INSTANTIATE_TEST_SUITE_P(RingAndAtomic, PageWriterLog, ::testing::Values(0, kPageSize));

}  // namespace
}  // namespace palimpsest::test
