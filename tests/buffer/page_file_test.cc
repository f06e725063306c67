// The page file: creation, reopening, and refusal of files with contradictions.
#include "buffer/page_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/random.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "buffer/space_map_page.h"
#include "tests/buffer/page_workload.h"
#include "tests/support/log_recorder.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::test {
namespace {

using buffer::FileHeader;
using buffer::PageFile;
using buffer::PageFileOptions;
using buffer::PageWriter;
using buffer::SpaceMap;
using testing::HasSubstr;

constexpr PageFileOptions kSmall{.page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64};
constexpr std::size_t kBlock = buffer::kHeaderBlockBytes;

/// Runs `action`, which must throw an Error with this code, and returns its text.
std::string refusal(ErrorCode code, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.code()), name_of(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

class PageFileTest : public testing::Test {
 protected:
  PageFileTest() : device_(disk_.device()) {}

  std::unique_ptr<PageFile> open(const buffer::OpenOptions& options = {}) {
    return PageFile::open(*device_, buffer::kPageFileName, options);
  }
  std::string refused(ErrorCode code, const buffer::OpenOptions& options = {}) {
    return refusal(code, [&] { static_cast<void>(open(options)); });
  }

  /// Creates a clean file with two written pages.
  void create() {
    const auto file = PageFile::create(*device_, buffer::kPageFileName, kSmall);
    SpaceMap map(*file);
    PageWriter writer(*file);
    for (const std::uint64_t version : {1U, 2U}) {
      const PageId id = map.allocate(0);
      write(*file, writer, id, version);
      pages_.push_back(id);
    }
    file->set_catalog_root(pages_[0]);
    map.flush(writer);
    file->close_cleanly();
  }

  static void write(PageFile& file, PageWriter& writer, PageId id, std::uint64_t version) {
    PageWriter::Batch batch = writer.begin_batch();
    fill_image({batch.slot(), file.page_size_bytes()}, id, version);
    batch.add(id);
    batch.write();
  }

  /// Changes the newest header on disk with a valid checksum; destroys the older copies.
  void forge(const std::function<void(FileHeader&)>& change) {
    const std::vector<std::byte> bytes = disk_.contents(buffer::kPageFileName);
    FileHeader header =
        buffer::find_file_header(ConstBytes(bytes).first(buffer::kHeaderCopies * kBlock), "")
            .header;
    change(header);
    std::vector<std::byte> blocks(buffer::kHeaderCopies * kBlock);
    buffer::encode_file_header(header, MutableBytes(blocks).first(kBlock));
    disk_.overwrite(buffer::kPageFileName, 0, blocks);
  }

  void flip(std::uint64_t offset_bytes) {
    std::byte byte = disk_.contents(buffer::kPageFileName)[offset_bytes] ^ std::byte{0x10};
    disk_.overwrite(buffer::kPageFileName, offset_bytes, {&byte, 1});
  }

  void replace(ConstBytes bytes) {
    const auto file = device_->open("other", io::OpenMode::create_new, false);
    if (!bytes.empty()) {
      file->allocate(0, bytes.size());
      disk_.overwrite("other", 0, bytes);
    }
    device_->rename("other", buffer::kPageFileName);
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::vector<PageId> pages_;
};

TEST_F(PageFileTest, ReopensWithEverything) {
  create();
  const auto file = open({.page_size_bytes = 4096});
  EXPECT_TRUE(file->was_clean());
  EXPECT_EQ(file->header().open_count, 2U);
  EXPECT_EQ(file->catalog_root(), pages_[0]);
  const AlignedMemory memory(std::size_t{2} * 4096, 4096);
  std::vector<buffer::PageRead> reads{
      {.id = pages_[1], .into = memory.bytes().first(4096)},
      {.id = PageId{1U << 30U}, .into = memory.bytes().subspan(4096)}};
  file->read_pages(reads);
  EXPECT_TRUE(reads[0].ok());
  EXPECT_EQ(version_of(reads[0].into, pages_[1]), 2U);
  EXPECT_EQ(reads[1].io_error, io::kEndOfFile);
  EXPECT_THAT(refusal(ErrorCode::corruption, [&] { file->throw_read_error(reads[1]); }),
              HasSubstr("page 1073741824 lies outside of pages 144 to "));
}

TEST_F(PageFileTest, RefusesWhatIsAbsentPresentOrLocked) {
  refused(ErrorCode::not_found);
  create();
  refusal(ErrorCode::already_exists,
          [&] { static_cast<void>(PageFile::create(*device_, buffer::kPageFileName, kSmall)); });
  const auto file = open();
  EXPECT_THAT(refused(ErrorCode::locked), HasSubstr("pages"));
}

TEST_F(PageFileTest, RefusesOptionsBeyondTheirLimits) {
  const auto refused_text = [&](PageFileOptions options) {
    return refusal(ErrorCode::invalid_argument, [&] {
      static_cast<void>(PageFile::create(*device_, buffer::kPageFileName, options));
    });
  };
  EXPECT_EQ(refused_text({.page_size_bytes = 2048}), "page size 2048 is outside 4096 to 65536");
  EXPECT_EQ(refused_text({.page_size_bytes = 5000}), "page size 5000 is not a power of two");
  EXPECT_EQ(refused_text({.ring_batches = 1}), "ring batches 1 is outside 2 to 64");
  EXPECT_EQ(refused_text({.batch_pages = 63}), "batch pages 63 is outside 64 to 1024");
  EXPECT_FALSE(device_->exists(buffer::kPageFileName));
}

TEST_F(PageFileTest, RefusesDevicesOfLargeBlocks) {
  const SimDisk large({.alignment_bytes = 2 * kBlock});
  const auto device = large.device();
  EXPECT_THAT(
      refusal(ErrorCode::invalid_argument,
              [&] { static_cast<void>(PageFile::create(*device, buffer::kPageFileName, kSmall)); }),
      HasSubstr("8192"));
  EXPECT_FALSE(device->exists(buffer::kPageFileName));
}

TEST_F(PageFileTest, RefusesForeignAndEmptyFiles) {
  replace({});
  EXPECT_THAT(refused(ErrorCode::not_a_database), HasSubstr("it has 0 bytes, less than the 12288"));
  std::vector<std::byte> bytes(65536);
  replace(bytes);
  EXPECT_THAT(refused(ErrorCode::not_a_database), HasSubstr("creation was never completed"));
  std::fill(bytes.begin(), bytes.end(), std::byte{'x'});
  replace(bytes);
  EXPECT_THAT(refused(ErrorCode::not_a_database), HasSubstr("magic bytes PLMPSEST"));
}

TEST_F(PageFileTest, RefusesOtherVersionsFeaturesAndPageSizes) {
  create();
  EXPECT_THAT(refused(ErrorCode::page_size_mismatch, {.page_size_bytes = 8192}),
              HasSubstr("has pages of 4096 bytes; 8192 were asked for"));
  forge([](FileHeader& header) { header.incompatible_features = 4; });
  EXPECT_THAT(refused(ErrorCode::unsupported_version),
              HasSubstr("uses features 0x4; this build knows 0x0"));
  forge([](FileHeader& header) {
    header.incompatible_features = 0;
    header.compatible_features = 4;
  });
  EXPECT_EQ(open()->header().compatible_features, 4U);
  forge([](FileHeader& header) { header.format_version = 7; });
  EXPECT_THAT(refused(ErrorCode::unsupported_version),
              HasSubstr("has format version 7; this build reads version 1"));
}

TEST_F(PageFileTest, RefusesTruncatedFiles) {
  create();
  std::vector<std::byte> bytes = disk_.contents(buffer::kPageFileName);
  const std::string pages = std::to_string(bytes.size() / 4096);
  bytes.resize(bytes.size() - 4096);
  replace(bytes);
  EXPECT_THAT(refused(ErrorCode::corruption), HasSubstr("is truncated: its header counts " + pages +
                                                        " pages of 4096 bytes, the "
                                                        "file has " +
                                                        std::to_string(bytes.size()) + " bytes"));
}

TEST_F(PageFileTest, SurvivesAllHeaderCopiesButOne) {
  create();
  const std::uint64_t sequence = open({.read_only = true})->header().sequence;
  for (std::uint32_t damaged = 0; damaged < buffer::kHeaderCopies; ++damaged) {
    flip(damaged * kBlock + 60);
    if (damaged + 1 < buffer::kHeaderCopies) {
      EXPECT_LE(open({.read_only = true, .allow_unclean = true})->header().sequence, sequence);
    }
  }
  EXPECT_THAT(
      refused(ErrorCode::corruption),
      testing::AllOf(HasSubstr("neither copy is whole"), HasSubstr("copy 0: checksum stored 0x"),
                     HasSubstr("copy 2: checksum stored 0x"), HasSubstr("computed 0x")));
}

// An older copy would be valid: it says that there is no catalog yet, or that nothing was written.
TEST_F(PageFileTest, AnyCopyMayBeDamagedAfterAChange) {
  create();
  const std::uint64_t pages = open()->page_count();
  const auto with_each_damaged = [&](const auto& judge) {
    for (std::uint32_t damaged = 0; damaged < buffer::kHeaderCopies; ++damaged) {
      SCOPED_TRACE(damaged);
      flip(damaged * kBlock + 60);
      const auto file = open({.read_only = true, .allow_unclean = true});
      EXPECT_EQ(file->catalog_root(), pages_[0]);
      EXPECT_FALSE(file->was_clean());
      judge(file->header());
      flip(damaged * kBlock + 60);
    }
  };
  open()->mark_open();
  with_each_damaged([&](const FileHeader& header) { EXPECT_EQ(header.page_count, pages); });
  open({.allow_unclean = true})->close_cleanly();
  open()->shrink(pages - 1);
  with_each_damaged([&](const FileHeader& header) { EXPECT_EQ(header.page_count, pages - 1); });
}

TEST_F(PageFileTest, ANewRootIsInEveryCopy) {
  const auto made = PageFile::create(*device_, buffer::kPageFileName, kSmall);
  SpaceMap map(*made);
  const PageId root = map.allocate(0);
  made->set_catalog_root(root);
  const SimDisk left = disk_.snapshot();
  for (std::uint32_t damaged = 0; damaged < buffer::kHeaderCopies; ++damaged) {
    disk_ = left.snapshot();
    device_ = disk_.device();
    flip(damaged * kBlock + 60);
    EXPECT_EQ(open({.allow_unclean = true})->catalog_root(), root) << damaged;
  }
}

// In new pages of a file that has just grown: whatever a crash keeps, the header names the root
// only if the pages exist.
TEST_F(PageFileTest, ANewRootLastsBeforeItIsNamed) {
  const auto made = PageFile::create(*device_, buffer::kPageFileName, kSmall);
  SpaceMap map(*made);
  const std::uint64_t before = made->page_count();
  PageId root = map.allocate(0);
  while (raw(root) < before) {
    root = map.allocate(0);
  }
  std::vector<SimDisk> crashed;
  disk_.set_hook([&](const SimOperation&) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      crashed.push_back(disk_.crash(seed));
    }
  });
  made->set_catalog_root(root);
  disk_.set_hook({});
  std::size_t named = 0;
  for (const SimDisk& disk : crashed) {
    const auto device = disk.device();
    const auto file = PageFile::open(*device, buffer::kPageFileName, {.allow_unclean = true});
    if (file->catalog_root() != kNoPage) {
      ASSERT_EQ(file->catalog_root(), root);
      ASSERT_TRUE(file->contains(root));
      ++named;
    }
  }
  EXPECT_GT(named, 0U);
  EXPECT_LT(named, crashed.size());
}

TEST_F(PageFileTest, RefusesHostileHeaders) {
  create();
  const auto hostile = [&](const char* text, const std::function<void(FileHeader&)>& change) {
    const std::vector<std::byte> before = disk_.contents(buffer::kPageFileName);
    forge(change);
    EXPECT_THAT(refused(ErrorCode::corruption), HasSubstr(text));
    disk_.overwrite(buffer::kPageFileName, 0,
                    ConstBytes(before).first(buffer::kHeaderCopies * kBlock));
  };
  hostile("page size 0 is not", [](FileHeader& h) { h.page_size_bytes = 0; });
  hostile("page size 131072 is not", [](FileHeader& h) { h.page_size_bytes = 131072; });
  hostile("ring begins at 4096", [](FileHeader& h) { h.ring_offset_bytes = 4096; });
  hostile("a ring of 4294967295 batches", [](FileHeader& h) { h.ring_batches = ~0U; });
  hostile("batches of 1 pages", [](FileHeader& h) { h.batch_pages = 1; });
  hostile("is truncated", [](FileHeader& h) { h.page_count = ~std::uint64_t{0}; });
  hostile("is truncated", [](FileHeader& h) { h.page_size_bytes = 65536; });
  hostile("ends before the first page", [](FileHeader& h) { h.page_count = 3; });
  hostile("catalog root 5 lies outside", [](FileHeader& h) { h.catalog_root = PageId{5}; });
  hostile("catalog root 99999999 lies", [](FileHeader& h) { h.catalog_root = PageId{99999999}; });
  hostile("clean flag 2", [](FileHeader& h) { h.clean = 2; });
  hostile("batch floor 18446744073709551615",
          [](FileHeader& h) { h.batch_floor = ~std::uint64_t{0}; });
  EXPECT_TRUE(open()->was_clean());
}

TEST_F(PageFileTest, AnyFlippedBitIsAnErrorOrHarmless) {
  create();
  const std::uint64_t random_seed = seed();
  Random random(random_seed);
  const std::vector<std::byte> original = disk_.contents(buffer::kPageFileName);
  const AlignedMemory memory(4096, 4096);
  std::uint64_t refused_count = 0;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t from = i % 2 == 0 ? 0 : raw(pages_[0]) * 4096 - 4096;
    const std::uint64_t size = i % 2 == 0 ? 3 * kBlock : std::uint64_t{3} * 4096;
    const std::uint64_t at = from + random.below(size);
    flip(at);
    try {
      const auto file = open({.read_only = true, .allow_unclean = true});
      const SpaceMap map(*file);
      for (const PageId id : pages_) {
        file->read_page(id, memory.bytes());
        EXPECT_TRUE(version_of(memory.bytes(), id).has_value());
      }
    } catch (const Error& error) {
      ++refused_count;
      EXPECT_EQ(error.code(), ErrorCode::corruption) << error.what();
    }
    disk_.overwrite(buffer::kPageFileName, at, {&original[at], 1});
  }
  EXPECT_GE(refused_count, 150U);
}

TEST_F(PageFileTest, DamagedPageIsNamedWithBothChecksums) {
  create();
  flip(raw(pages_[1]) * 4096 + 1000);
  const auto file = open();
  const AlignedMemory memory(4096, 4096);
  const std::string text =
      refusal(ErrorCode::corruption, [&] { file->read_page(pages_[1], memory.bytes()); });
  EXPECT_THAT(text, HasSubstr("pages\": page " + std::to_string(raw(pages_[1])) +
                              " is damaged (checksum): checksum stored 0x"));
  EXPECT_THAT(text, HasSubstr("computed 0x"));
}

/// Consecutive pages, read into adjacent memory.
class Neighbours : public PageFileTest {
 protected:
  static constexpr std::size_t kCount = 12;

  Neighbours() {
    create();
    file_ = open();
    PageWriter writer(*file_);
    SpaceMap map(*file_);
    for (std::size_t i = 0; i < kCount; ++i) {
      ids_.push_back(map.allocate(0));
      write(*file_, writer, ids_.back(), i + 1);
    }
  }
  /// Returns the number of transfers.
  std::uint64_t read() {
    for (std::size_t i = 0; i < kCount; ++i) {
      reads_[i] = {.id = ids_[i], .into = memory_.bytes().subspan(i * 4096, 4096)};
    }
    const std::uint64_t before = device_->statistics().reads;
    file_->read_pages(reads_);
    return device_->statistics().reads - before;
  }
  /// The pages that could not be read.
  [[nodiscard]] std::vector<std::size_t> failed() const {
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!reads_[i].ok()) {
        failed.push_back(i);
      }
    }
    return failed;
  }
  void fail_read(std::uint64_t nth) {
    disk_.inject({.kinds = static_cast<unsigned>(SimKind::read), .nth = nth});
  }

  std::unique_ptr<PageFile> file_;
  std::vector<PageId> ids_;
  std::vector<buffer::PageRead> reads_{kCount};
  AlignedMemory memory_{kCount * 4096, 4096};
};

TEST_F(Neighbours, AreOneTransfer) {
  ASSERT_EQ(raw(ids_.back()), raw(ids_.front()) + kCount - 1);
  EXPECT_EQ(read(), 1U);
  EXPECT_THAT(failed(), testing::IsEmpty());
  std::ranges::reverse(ids_);
  EXPECT_EQ(read(), kCount);
  EXPECT_THAT(failed(), testing::IsEmpty());
}

TEST_F(Neighbours, FailAlone) {
  fail_read(1);
  EXPECT_EQ(read(), 1 + kCount);
  EXPECT_THAT(failed(), testing::IsEmpty()) << "together only";
  fail_read(1);
  fail_read(4);
  read();
  EXPECT_THAT(failed(), testing::ElementsAre(2));
  EXPECT_EQ(reads_[2].io_error, EIO);
  flip(raw(ids_[5]) * 4096 + 1000);
  EXPECT_EQ(read(), 1U);
  EXPECT_THAT(failed(), testing::ElementsAre(5));
  EXPECT_EQ(reads_[5].fault, buffer::PageFault::checksum);
}

TEST_F(PageFileTest, MisdirectedPageIsNoticed) {
  create();
  const std::vector<std::byte> bytes = disk_.contents(buffer::kPageFileName);
  disk_.overwrite(buffer::kPageFileName, raw(pages_[1]) * 4096,
                  ConstBytes(bytes).subspan(raw(pages_[0]) * 4096, 4096));
  const auto file = open();
  const AlignedMemory memory(4096, 4096);
  EXPECT_THAT(refusal(ErrorCode::corruption, [&] { file->read_page(pages_[1], memory.bytes()); }),
              HasSubstr("is damaged (identity)"));
}

TEST_F(PageFileTest, UncleanFileIsRefusedUnlessAsked) {
  create();
  {
    const auto file = open();
    file->mark_open();
  }
  EXPECT_THAT(refused(ErrorCode::not_closed_cleanly), HasSubstr("was not closed cleanly"));
  refused(ErrorCode::not_closed_cleanly, {.read_only = true});
  EXPECT_FALSE(open({.allow_unclean = true})->was_clean());
  open({.allow_unclean = true})->close_cleanly();
  EXPECT_TRUE(open()->was_clean());
}

// A copy in the ring with a batch number that no writer assigned must neither be restored nor
// prevent the restore of valid ones.
TEST_F(PageFileTest, HostileBatchNumbersInTheRing) {
  create();
  const PageId page = pages_[0];
  const std::uint64_t place = raw(page) * 4096;
  {
    const auto file = open();
    PageWriter writer(*file);
    write(*file, writer, page, 7);
  }
  const std::vector<std::byte> torn(2048, std::byte{0x5a});
  disk_.overwrite(buffer::kPageFileName, place, torn);
  const SimDisk unclean = disk_.snapshot();
  const AlignedMemory image(4096, 4096);
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, kCounterMax + 1, ~std::uint64_t{0}}) {
    SCOPED_TRACE(number);
    SimDisk disk = unclean.snapshot();
    fill_image(image.bytes(), page, 99);
    buffer::seal_page(image.bytes(), number);
    const std::uint64_t last_of_ring = buffer::kHeaderAreaBytes + std::uint64_t{2 * 64 - 1} * 4096;
    disk.overwrite(buffer::kPageFileName, last_of_ring, image.bytes());
    const std::unique_ptr<io::Device> device = disk.device();
    const LogRecorder recorder;
    const auto file = PageFile::open(*device, buffer::kPageFileName,
                                     {.allow_unclean = true, .log = recorder.function()});
    EXPECT_EQ(file->restored().pages_restored, 1U);
    ASSERT_EQ(recorder.count("pages", "were restored"), 1U);
    EXPECT_EQ(recorder.all().front().number("pages"), 1U);
    EXPECT_EQ(recorder.all().front().level, LogLevel::info);
    file->read_page(page, image.bytes());
    EXPECT_EQ(version_of(image.bytes(), page), 7U);
    EXPECT_LT(file->take_batch_number(), kCounterMax);
  }
}

TEST_F(PageFileTest, OpeningAloneLeavesTheFileClean) {
  create();
  open().reset();
  open().reset();
  EXPECT_EQ(open()->header().open_count, 4U);
}

TEST_F(PageFileTest, ReadOnlyFilesAreNotWritten) {
  create();
  const std::vector<std::byte> before = disk_.contents(buffer::kPageFileName);
  {
    const auto file = open({.read_only = true});
    PageWriter writer(*file);
    const auto refuse = [](const std::function<void()>& action) {
      EXPECT_THAT(refusal(ErrorCode::invalid_argument, action), HasSubstr("is open read-only"));
    };
    refuse([&] { static_cast<void>(writer.begin_batch()); });
    refuse([&] { writer.write_fresh({}); });
    refuse([&] { writer.harden(); });
    refuse([&] { file->set_catalog_root(kNoPage); });
    refuse([&] { file->close_cleanly(); });
    const AlignedMemory memory(4096, 4096);
    file->read_page(pages_[0], memory.bytes());
  }
  EXPECT_EQ(disk_.contents(buffer::kPageFileName), before);
}

TEST_F(PageFileTest, HostileSpaceMapsAreRefused) {
  create();
  const std::uint64_t at = 144 * std::uint64_t{4096};
  const auto hostile = [&](const char* text, const std::function<void(MutableBytes)>& change) {
    std::vector<std::byte> bytes = disk_.contents(buffer::kPageFileName);
    const std::vector<std::byte> before(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                        bytes.begin() + static_cast<std::ptrdiff_t>(at + 4096));
    std::vector<std::byte> page = before;
    change(page);
    buffer::seal_page(page, 1);
    disk_.overwrite(buffer::kPageFileName, at, page);
    const auto file = open();
    EXPECT_THAT(refusal(ErrorCode::corruption, [&] { const SpaceMap map(*file); }),
                HasSubstr(text));
    disk_.overwrite(buffer::kPageFileName, at, before);
  };
  hostile("space map page 144: its type is tree_leaf",
          [](MutableBytes page) { page[46] = std::byte{1}; });
  hostile("it is not marked as in use itself",
          [](MutableBytes page) { page[64] &= std::byte{0xfe}; });
  hostile("the file ends at page", [](MutableBytes page) { page.back() = std::byte{0x80}; });
  hostile("page 144 is damaged (identity)", [](MutableBytes page) { page[8] = std::byte{7}; });
}

TEST_F(PageFileTest, WhatAFailedTruncationLeavesDoesNotComeBack) {
  create();
  const auto file = open();
  SpaceMap map(*file);
  for (const PageId id : pages_) {
    map.free(id);
  }
  file->set_catalog_root(kNoPage);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::truncate)});
  EXPECT_THROW(map.truncate_free_tail(), Error);
  EXPECT_FALSE(file->contains(pages_[0]));
  EXPECT_EQ(map.allocate(0), pages_[0]);
  const AlignedMemory memory(4096, 4096);
  EXPECT_THROW(file->read_page(pages_[0], memory.bytes()), Error);
}

TEST_F(PageFileTest, TheCatalogRootIsNotCutOff) {
  create();
  const auto file = open();
  SpaceMap map(*file);
  for (const PageId id : pages_) {
    map.free(id);
  }
  const std::uint64_t page_count = file->page_count();
  EXPECT_THAT(refusal(ErrorCode::corruption, [&] { map.truncate_free_tail(); }),
              HasSubstr("the space map marks page " + std::to_string(raw(pages_[0])) +
                        ", the catalog's root, as free"));
  EXPECT_EQ(file->page_count(), page_count);
  EXPECT_EQ(map.allocate(0), pages_[0]);
}

TEST_F(PageFileTest, PrintersShowWhatIsThere) {
  create();
  const auto file = open();
  EXPECT_THAT(buffer::print_file_header(file->header()),
              testing::AllOf(HasSubstr("of 4096 bytes, the first 144"), HasSubstr("clean")));
  const AlignedMemory memory(4096, 4096);
  file->read_page(PageId{144}, memory.bytes());
  EXPECT_THAT(buffer::print_space_map_page(memory.bytes()),
              testing::AllOf(HasSubstr("page 144 space_map"), HasSubstr("in use: 144-146")));
  file->read_page(pages_[1], memory.bytes());
  EXPECT_THAT(buffer::print_page_header(memory.bytes()),
              HasSubstr("page 146 tree_leaf tree 0 gsn 2"));
}

}  // namespace
}  // namespace palimpsest::test
