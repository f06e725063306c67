#include "btree/large/large_value_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "tests/btree/large_value_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::btree::test {
namespace {

using buffer::PageRun;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;

constexpr std::uint32_t kPageSize = 4096;
constexpr std::uint64_t kPayload = extent_payload_bytes(kPageSize);
constexpr std::uint64_t kBufferPayload = kExtentBufferBytes / kPageSize * kPayload;

class LargeValueStoreTest : public testing::Test {
 protected:
  void SetUp() override { use({}); }

  void use(const palimpsest::test::SimOptions& options, std::uint32_t page_size = kPageSize) {
    db_.reset();
    disk_.emplace(options);
    device_ = disk_->device();
    db_ = LargeValueFile::create(*device_, page_size);
  }

  LargeValueDescriptor put(std::uint64_t seed, std::uint64_t size_bytes) {
    return db_->store.write(pattern(seed, size_bytes));
  }

  /// Stored in the pages of a freed value: all other pages are allocated first.
  LargeValueDescriptor put_over(const LargeValueDescriptor& freed, std::uint64_t seed) {
    for (int i = 0; i < 10'000; ++i) {
      const LargeValueDescriptor value = put(seed, freed.size_bytes());
      if (std::ranges::equal(value.runs(), freed.runs())) {
        return value;
      }
    }
    throw std::runtime_error("freed pages are not used again");
  }

  void expect_holds(const LargeValueDescriptor& value, std::uint64_t seed) {
    std::string found;
    ASSERT_EQ(db_->store.read_all(value, found), ReadOutcome::complete) << print_descriptor(value);
    EXPECT_TRUE(found == pattern(seed, value.size_bytes())) << print_descriptor(value);
    EXPECT_NO_THROW(db_->store.verify(value));
  }

  void expect_replaced(const LargeValueDescriptor& value) {
    std::string found = "old";
    EXPECT_EQ(db_->store.read_all(value, found), ReadOutcome::replaced) << print_descriptor(value);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(read_piece(db_->store, value, 0, 1, found), ReadOutcome::replaced);
  }

  /// Runs `action`, which must throw `code` and leave as many pages allocated as before.
  std::string expect_refused(ErrorCode code, const std::function<void()>& action) {
    const std::uint64_t allocated = db_->allocated();
    std::string message = "nothing was thrown";
    try {
      action();
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      message = error.what();
    }
    EXPECT_EQ(db_->allocated(), allocated) << message;
    return message;
  }

  /// Allocates pages until none is free.
  std::vector<PageId> use_up() {
    std::vector<PageId> pages;
    do {
      pages.push_back(db_->space.allocate(0));
    } while (db_->space.counts().free != 0);
    return pages;
  }

  /// Writes a sealed page of some type, filled with `fill`, over a block of `value`.
  void write_page(PageId id, buffer::PageType type, std::byte fill) {
    const AlignedMemory memory(kPageSize, kPageSize);
    std::ranges::fill(memory.bytes(), fill);
    buffer::PageHeader header{};
    header.page_id = id;
    header.type = type;
    std::memcpy(memory.data(), &header, sizeof(header));
    const std::array<buffer::PageImage, 1> images{{{id, memory.bytes()}}};
    db_->writer.write_fresh(images);
  }

  std::vector<std::byte> page_on_disk(PageId id) {
    const auto bytes = disk_->contents(kFileName);
    const std::size_t at = db_->file->offset_of(id);
    return {bytes.begin() + static_cast<std::ptrdiff_t>(at),
            bytes.begin() + static_cast<std::ptrdiff_t>(at + kPageSize)};
  }

  std::optional<SimDisk> disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<LargeValueFile> db_;
};

TEST_F(LargeValueStoreTest, SizesAroundEveryBoundary) {
  for (const std::uint32_t page_size : {4096U, 16384U, 65536U}) {
    use({}, page_size);
    const std::uint64_t payload = extent_payload_bytes(page_size);
    const std::uint64_t buffer = kExtentBufferBytes / page_size * payload;
    std::uint64_t seed = 0;
    for (const std::uint64_t around :
         {std::uint64_t{1}, std::uint64_t{record_bytes_max(page_size)}, payload, 2 * payload,
          7 * payload, std::uint64_t{1} << 20, buffer, 2 * buffer}) {
      for (const std::uint64_t size : {around - 1, around, around + 1}) {
        if (size == 0) {
          continue;
        }
        const LargeValueDescriptor value = put(++seed, size);
        EXPECT_EQ(value.size_bytes(), size);
        EXPECT_EQ(value.block_count(), (size + payload - 1) / payload);
        expect_holds(value, seed);
        const std::uint64_t allocated = db_->allocated();
        db_->store.free(value);
        EXPECT_EQ(db_->allocated(), allocated - value.block_count());
      }
    }
  }
}

TEST_F(LargeValueStoreTest, LimitsAreNamed) {
  EXPECT_THAT(expect_refused(ErrorCode::invalid_argument,
                             [&] { static_cast<void>(db_->store.begin(kLargeValueBytesMax + 1)); }),
              testing::HasSubstr("1073741824"));
  expect_refused(ErrorCode::invalid_argument, [&] { static_cast<void>(db_->store.write("")); });
  const LargeValueDescriptor value = put(1, 5000);
  std::string out;
  for (const auto& [offset, size] :
       {std::pair<std::uint64_t, std::uint64_t>{5000, 1}, {4999, 2}, {0, 5001}, {~0ULL, 1}}) {
    expect_refused(ErrorCode::invalid_argument,
                   [&] { static_cast<void>(read_piece(db_->store, value, offset, size, out)); });
  }
  EXPECT_EQ(read_piece(db_->store, value, 5000, 0, out), ReadOutcome::complete);
}

TEST_F(LargeValueStoreTest, StreamedInAnyPiecesReadInAnyPieces) {
  Random random(palimpsest::test::seed());
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::uint64_t size = 1 + random.below(3 * kBufferPayload);
    const std::string original = pattern(seed, size);
    LargeValueStore::Writer begun = db_->store.begin(size);
    LargeValueStore::Writer writer = std::move(begun);  // may be moved while unfinished
    ByteView rest = original;
    while (!rest.empty()) {
      EXPECT_EQ(writer.missing_bytes(), rest.size());
      const std::size_t piece =
          std::min<std::size_t>(rest.size(), random.below(random.one_in(3) ? 400'000 : 9'000));
      writer.append(rest.substr(0, piece));
      rest.remove_prefix(piece);
    }
    const LargeValueDescriptor value = writer.finish();
    expect_holds(value, seed);
    for (int piece = 0; piece < 50; ++piece) {
      const std::uint64_t offset = random.below(size + 1);
      const std::uint64_t length = random.below(std::min(size - offset, 20 * kPayload) + 1);
      std::string found;
      ASSERT_EQ(read_piece(db_->store, value, offset, length, found), ReadOutcome::complete);
      ASSERT_TRUE(found == original.substr(offset, length)) << offset << " " << length;
    }
    std::string found;
    ASSERT_EQ(read_piece(db_->store, value, 1, size - 1, found), ReadOutcome::complete);
    ASSERT_TRUE(found == original.substr(1));
  }
}

TEST_F(LargeValueStoreTest, WritesAreLargeAndSequential) {
  put(1, 1);  // the header says "not clean" from here on
  std::vector<std::uint64_t> sizes;
  disk_->set_hook([&](const palimpsest::test::SimOperation& operation) {
    if (operation.kind == SimKind::write) {
      sizes.push_back(operation.size_bytes);
    }
  });
  const LargeValueDescriptor value = put(2, 2 * kBufferPayload + 1);
  disk_->set_hook({});
  ASSERT_EQ(value.runs().size(), 1U);
  EXPECT_THAT(sizes, testing::ElementsAre(kExtentBufferBytes, kExtentBufferBytes, kPageSize));
}

TEST_F(LargeValueStoreTest, NothingOfAnEarlierValueStandsBehindTheLastByte) {
  LargeValueStore::Writer writer = db_->store.begin(kBufferPayload + 3);
  writer.append(std::string(kBufferPayload + 3, 'x'));
  const LargeValueDescriptor value = writer.finish();
  const auto page = page_on_disk(value.page_of(value.block_count() - 1));
  EXPECT_EQ(page[kExtentPayloadOffset + 2], std::byte{'x'});
  EXPECT_TRUE(std::all_of(page.begin() + kExtentPayloadOffset + 3, page.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(LargeValueStoreTest, ScatteredPagesMakeManyRunsUpToTheLimit) {
  db_->space.free(db_->space.allocate_extent(200, 1).front());  // makes the file this long
  const std::vector<PageId> pages = use_up();
  const auto free_scattered = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      db_->space.free(pages[3 + 2 * i]);
    }
  };
  free_scattered(kLargeValueRunsMax);
  const std::uint64_t file_pages = db_->file->page_count();
  const LargeValueDescriptor scattered = put(1, kLargeValueRunsMax * kPayload);
  EXPECT_EQ(scattered.runs().size(), kLargeValueRunsMax);
  EXPECT_EQ(db_->file->page_count(), file_pages);
  expect_holds(scattered, 1);
  EXPECT_EQ(db_->store.decode(scattered.encode().view()), scattered);
  db_->store.free(scattered);
  EXPECT_EQ(db_->space.counts().free, kLargeValueRunsMax);

  // One block more does not fit that many runs, although there are enough pages: the file grows.
  db_->space.free(pages[3 + 2 * kLargeValueRunsMax]);
  const LargeValueDescriptor grown = put(2, (kLargeValueRunsMax + 1) * kPayload);
  EXPECT_EQ(grown.runs().size(), 1U);
  EXPECT_GT(db_->file->page_count(), file_pages);
  expect_holds(grown, 2);
}

TEST_F(LargeValueStoreTest, AFullDiskLeavesNothingAllocated) {
  palimpsest::test::SimOptions options;
  options.capacity_bytes = 6U << 20;
  use(options);
  const LargeValueDescriptor kept = put(1, 100'000);
  expect_refused(ErrorCode::no_space,
                 [&] { static_cast<void>(db_->store.begin(kLargeValueBytesMax)); });
  expect_refused(ErrorCode::no_space, [&] { put(2, 8U << 20); });
  // Once there is space, writing goes on.
  const LargeValueDescriptor second = put(3, 200'000);
  expect_holds(kept, 1);
  expect_holds(second, 3);
}

TEST_F(LargeValueStoreTest, WhateverOperationFailsNothingStaysAllocated) {
  put(1, 1);
  for (const int code : {ENOSPC, EIO}) {
    int refused = 0;
    for (std::uint64_t nth = 1;; ++nth) {
      disk_->inject(
          {.error = code, .kinds = SimKind::write | SimKind::allocate | SimKind::size, .nth = nth});
      const std::uint64_t allocated = db_->allocated();
      try {
        const LargeValueDescriptor value = put(2, 2 * kBufferPayload + 1);
        disk_->clear_faults();
        expect_holds(value, 2);
        break;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code == ENOSPC ? ErrorCode::no_space : ErrorCode::io_error);
        EXPECT_EQ(db_->allocated(), allocated) << error.what();
        ++refused;
      }
      disk_->clear_faults();
    }
    EXPECT_GE(refused, 3) << "each of the three transfers failed once";
  }
}

TEST_F(LargeValueStoreTest, AFailedWriterIsOfNoFurtherUse) {
  put(1, 1);
  const std::uint64_t allocated = db_->allocated();
  LargeValueStore::Writer writer = db_->store.begin(2 * kBufferPayload);
  disk_->inject({.error = EIO, .kinds = static_cast<unsigned>(SimKind::write)});
  EXPECT_THROW(writer.append(std::string(2 * kBufferPayload, 'x')), Error);
  EXPECT_EQ(db_->allocated(), allocated) << "free at once, not when the writer goes";
  expect_refused(ErrorCode::failed, [&] { writer.append("x"); });
  expect_refused(ErrorCode::failed, [&] { static_cast<void>(writer.finish()); });
}

TEST_F(LargeValueStoreTest, AnUnfinishedWriterLeavesNothing) {
  put(1, 1);  // an empty file has no map page yet
  const std::uint64_t allocated = db_->allocated();
  {
    LargeValueStore::Writer writer = db_->store.begin(2 * kBufferPayload);
    writer.append(std::string(kBufferPayload + 9, 'x'));
    EXPECT_GT(db_->allocated(), allocated);
  }
  EXPECT_EQ(db_->allocated(), allocated);
  {
    LargeValueStore::Writer writer = db_->store.begin(10);
    writer.append("123456789");
    EXPECT_THROW(static_cast<void>(writer.finish()), Error);
    EXPECT_EQ(db_->allocated(), allocated);
  }
  {
    LargeValueStore::Writer writer = db_->store.begin(10);
    writer.append("123456789");
    EXPECT_THROW(writer.append("ab"), Error);
    EXPECT_EQ(db_->allocated(), allocated);
  }
  LargeValueStore::Writer writer = db_->store.begin(10);
  writer.append("0123456789");
  const LargeValueDescriptor value = writer.finish();
  EXPECT_THROW(static_cast<void>(writer.finish()), Error) << "a value is finished once";
  EXPECT_EQ(db_->allocated(), allocated + 1) << "what is finished stays";
  std::string found;
  ASSERT_EQ(db_->store.read_all(value, found), ReadOutcome::complete);
  EXPECT_EQ(found, "0123456789");
}

TEST_F(LargeValueStoreTest, AnotherValueInTheSamePagesIsNotTakenForTheOldOne) {
  const LargeValueDescriptor old_value = put(1, 300'000);
  db_->store.free(old_value);
  expect_holds(old_value, 1);  // its bytes are still there
  const LargeValueDescriptor new_value = put_over(old_value, 2);
  EXPECT_NE(new_value, old_value);
  expect_replaced(old_value);
  expect_holds(new_value, 2);
}

TEST_F(LargeValueStoreTest, PagesUsedForSomethingElseAreNotTakenForTheValue) {
  const LargeValueDescriptor value = put(1, 3 * kPayload);
  const auto block = page_on_disk(value.page_of(1));
  const std::uint64_t at = db_->file->offset_of(value.page_of(1));
  const auto expect_damage = [&](const std::string& what) {
    std::string out;
    EXPECT_EQ(db_->store.read_all(value, out), ReadOutcome::replaced) << what;
    EXPECT_EQ(read_piece(db_->store, value, 0, kPayload, out), ReadOutcome::complete) << what;
    EXPECT_EQ(read_piece(db_->store, value, kPayload, 1, out), ReadOutcome::replaced) << what;
    EXPECT_THAT(expect_refused(ErrorCode::corruption, [&] { db_->store.verify(value); }),
                testing::HasSubstr(what));
    disk_->overwrite(kFileName, at, block);
    expect_holds(value, 1);
  };
  // The rest of the page is a copy of the block, so that only the type differs.
  std::vector<std::byte> leaf = block;
  leaf[offsetof(buffer::PageHeader, type)] = std::byte{1};
  buffer::seal_page(leaf, 0);
  disk_->overwrite(kFileName, at, leaf);
  expect_damage("page type");

  disk_->overwrite(kFileName, at, page_on_disk(value.page_of(0)));
  expect_damage("identity");

  std::vector<std::byte> other = block;  // block 0, with this page's id
  other[sizeof(buffer::PageHeader) + offsetof(ExtentBlockHeader, block_number)] = std::byte{0};
  buffer::seal_page(other, 0);
  disk_->overwrite(kFileName, at, other);
  expect_damage("block number");

  disk_->overwrite(kFileName, at, std::vector<std::byte>(kPageSize));
  expect_damage("checksum");
}

TEST_F(LargeValueStoreTest, ATornBlockIsNotTakenForEither) {
  const LargeValueDescriptor old_value = put(1, 3 * kPayload);
  const auto old_block = page_on_disk(old_value.page_of(2));
  db_->store.free(old_value);
  const LargeValueDescriptor new_value = put_over(old_value, 2);
  const auto new_block = page_on_disk(new_value.page_of(2));
  const std::uint64_t at = db_->file->offset_of(new_value.page_of(2));
  std::string out;
  for (std::size_t sectors = 1; sectors < kPageSize / 512; ++sectors) {
    for (const bool new_first : {true, false}) {
      std::vector<std::byte> torn = new_first ? new_block : old_block;
      const auto& rest = new_first ? old_block : new_block;
      std::copy(rest.begin() + static_cast<std::ptrdiff_t>(512 * sectors), rest.end(),
                torn.begin() + static_cast<std::ptrdiff_t>(512 * sectors));
      disk_->overwrite(kFileName, at, torn);
      for (const LargeValueDescriptor* value : {&old_value, &new_value}) {
        EXPECT_EQ(read_piece(db_->store, *value, 2 * kPayload, 1, out), ReadOutcome::replaced);
      }
    }
  }
  disk_->overwrite(kFileName, at, new_block);
  expect_holds(new_value, 2);
}

TEST_F(LargeValueStoreTest, PagesCutOffTheFileAreReplaced) {
  static_cast<void>(db_->space.allocate(0));
  const LargeValueDescriptor value = put(1, 3'000'000);
  db_->store.free(value);
  ASSERT_GT(db_->space.truncate_free_tail(), 0U);
  expect_replaced(value);
  EXPECT_THAT(expect_refused(ErrorCode::corruption, [&] { db_->store.verify(value); }),
              testing::HasSubstr("outside"));
  // The file grows again: the new pages are different ones.
  const LargeValueDescriptor again = put(2, 3'000'000);
  expect_replaced(value);
  expect_holds(again, 2);
}

TEST_F(LargeValueStoreTest, DeviceErrorsAreNotTakenForReplacement) {
  const LargeValueDescriptor value = put(1, 3 * kPayload);
  std::string out;
  disk_->inject({.error = EIO, .kinds = static_cast<unsigned>(SimKind::read), .for_good = true});
  expect_refused(ErrorCode::io_error, [&] { static_cast<void>(db_->store.read_all(value, out)); });
  expect_refused(ErrorCode::io_error, [&] { db_->store.verify(value); });
  disk_->clear_faults();
  expect_holds(value, 1);
}

TEST_F(LargeValueStoreTest, WhatIsFreedMustBeInUse) {
  const LargeValueDescriptor value = put(1, 3 * kPayload);
  const LargeValueDescriptor other = put(2, 3 * kPayload);
  db_->store.free(value);
  expect_refused(ErrorCode::corruption, [&] { db_->store.free(value); });

  const auto forged = [&](std::uint64_t first, std::uint32_t pages) {
    const std::array<PageRun, 1> runs{{{PageId{first}, pages}}};
    return LargeValueDescriptor::make(pages * kPayload, {1, 999}, runs, kPageSize);
  };
  const std::uint64_t map_page = raw(db_->file->first_page());
  const std::uint64_t end = db_->file->page_count();
  for (const LargeValueDescriptor& wrong :
       {forged(map_page, 1), forged(map_page - 1, 1), forged(end - 1, 2), forged(end, 1),
        forged(std::uint64_t{1} << 50, 1), forged(raw(other.page_of(0)), 200)}) {
    expect_refused(ErrorCode::corruption, [&] { db_->store.free(wrong); });
    std::string out;
    EXPECT_EQ(db_->store.read_all(wrong, out), ReadOutcome::replaced);
  }
  expect_holds(other, 2);
}

TEST_F(LargeValueStoreTest, AHugeDescriptorAllocatesNothing) {
  const std::uint32_t pages = extent_blocks(kLargeValueBytesMax, kPageSize);
  const std::array<PageRun, 1> runs{{{db_->file->first_page(), pages}}};
  const auto huge = LargeValueDescriptor::make(kLargeValueBytesMax, {1, 1}, runs, kPageSize);
  std::string out;
  EXPECT_EQ(db_->store.read_all(huge, out), ReadOutcome::replaced);
  EXPECT_LT(out.capacity(), 1000U);
}

TEST_F(LargeValueStoreTest, HostileDescriptorsNeverCrash) {
  Random random(palimpsest::test::seed());
  const LargeValueDescriptor value = put(1, 9 * kPayload);
  const std::string good(value.encode().view());
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    // Sizes and pages stay small, so that many of these descriptors are well-formed.
    for (std::uint64_t changes = 1 + random.below(2); changes > 0; --changes) {
      const std::size_t at = 8 + random.below(good.size() - 8);
      bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1U << random.below(8)));
    }
    try {
      const LargeValueDescriptor hostile = db_->store.decode(bytes);
      std::string out;
      const ReadOutcome outcome = db_->store.read_all(hostile, out);
      EXPECT_EQ(outcome == ReadOutcome::complete, hostile == value);
      EXPECT_LE(out.capacity(), db_->file->page_count() * kPageSize);
      static_cast<void>(read_piece(db_->store, hostile, hostile.size_bytes() - 1, 1, out));
      if (hostile != value) {
        EXPECT_THROW(db_->store.verify(hostile), Error);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::corruption) << error.what();
    }
  }
  expect_holds(value, 1);
}

TEST_F(LargeValueStoreTest, StampsAreNeverUsedTwice) {
  std::vector<ValueStamp> stamps;
  const auto note = [&](const LargeValueDescriptor& value) {
    EXPECT_EQ(std::ranges::count(stamps, value.stamp()), 0) << print_descriptor(value);
    stamps.push_back(value.stamp());
    return value;
  };
  const LargeValueDescriptor first = note(put(1, 50'000));
  note(put(2, 50'000));
  {
    const LargeValueStore::Writer abandoned = db_->store.begin(50'000);
  }
  note(put(3, 50'000));
  for (int opened = 0; opened < 3; ++opened) {
    db_->close();
    db_.reset();
    db_ = LargeValueFile::open(*device_);
    expect_holds(first, 1);
    note(put(4, 50'000));
    note(put(5, 50'000));
  }
  // A crash loses values that nothing refers to; their stamps are not reused either.
  note(put(6, 50'000));
  const SimDisk crashed = disk_->crash(palimpsest::test::seed());
  db_.reset();
  disk_ = crashed;
  device_ = disk_->device();
  db_ = LargeValueFile::open(*device_, {.allow_unclean = true});
  note(put(7, 50'000));
}

TEST_F(LargeValueStoreTest, WhatIsHardenedSurvivesACrash) {
  const LargeValueDescriptor value = put(1, 2 * kBufferPayload + 77);
  db_->space.flush(db_->writer);
  db_->writer.harden();
  const SimDisk crashed = disk_->crash(1, palimpsest::test::CrashKeeps::nothing);
  db_.reset();
  disk_ = crashed;
  device_ = disk_->device();
  db_ = LargeValueFile::open(*device_, {.allow_unclean = true});
  expect_holds(value, 1);
}

TEST_F(LargeValueStoreTest, AReadOnlyFileIsReadAndNotWritten) {
  const LargeValueDescriptor value = put(1, 50'000);
  db_->close();
  db_.reset();
  db_ = LargeValueFile::open(*device_, {.read_only = true});
  expect_holds(value, 1);
  expect_refused(ErrorCode::invalid_argument, [&] { put(2, 50'000); });
}

TEST_F(LargeValueStoreTest, BlocksArePrinted) {
  const LargeValueDescriptor value = put(1, kPayload + 1);
  const std::string text = print_extent_block(page_on_disk(value.page_of(1)));
  EXPECT_THAT(text, testing::HasSubstr("extent_block"));
  EXPECT_THAT(text, testing::HasSubstr("| value 1.1 block 1 payload 1 reserved 0"));
}

#ifdef PALIMPSEST_SYNC_POINTS
TEST_F(LargeValueStoreTest, AValueReplacedWhileItIsReadIsNeverMixed) {
  const std::uint64_t size = 3 * kBufferPayload;
  const LargeValueDescriptor old_value = put(1, size);
  std::optional<LargeValueDescriptor> new_value;
  int batches = 0;
  const SyncHook replace("btree.large_value.read", [&] {
    if (++batches == 2) {  // the second batch is in memory, the third is not
      db_->store.free(old_value);
      new_value = put(2, size);
    }
  });
  std::string out;
  EXPECT_EQ(db_->store.read_all(old_value, out), ReadOutcome::replaced);
  EXPECT_EQ(batches, 3);
  ASSERT_TRUE(std::ranges::equal(new_value->runs(), old_value.runs()));
  expect_holds(*new_value, 2);
}
#endif

}  // namespace
}  // namespace palimpsest::btree::test
