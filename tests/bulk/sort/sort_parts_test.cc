// The parts of a sort: buffers, the tournament, blocks, the file's parts and names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bulk/sort/loser_tree.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/sort_buffer.h"
#include "bulk/sort/sort_file.h"
#include "bulk/sort/sort_memory.h"
#include "bulk/sort/sort_shape.h"
#include "tests/bulk/sort/sort_test_support.h"
#include "tests/support/error_of.h"

namespace palimpsest::bulk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kPage = kSortAlignmentBytes;

TEST(SortBuffer, SortsByHeadThenKeyThenArrival) {
  SortMemory memory(4096);
  SortBuffer buffer(memory.take(4096));
  for (const std::string_view key : {"b", "aaaaaaaab", "aaaaaaaaa", "", "b", "\xff", "aaaaaaaa"}) {
    ASSERT_TRUE(buffer.add(key, std::to_string(buffer.records())));
  }
  ASSERT_TRUE(buffer.add(std::string("b\0", 2), "7"));
  buffer.sort();
  std::vector<std::string> values;
  values.reserve(buffer.records());
  for (std::size_t i = 0; i < buffer.records(); ++i) {
    values.emplace_back(buffer.record(i).value);
  }
  EXPECT_THAT(values, ElementsAre("3", "6", "2", "1", "0", "4", "7", "5"));
}

TEST(SortBuffer, TakesWhatFitsExactly) {
  SortMemory memory(4096);
  SortBuffer buffer(memory.take(4096));
  const std::string value(4096 - SortBuffer::kOverheadBytes - 1, 'v');
  EXPECT_FALSE(buffer.add("ke", value));
  EXPECT_TRUE(buffer.add("k", value));
  EXPECT_FALSE(buffer.add("", ""));
  EXPECT_EQ(buffer.record(0).value, value);
  buffer.clear();
  EXPECT_TRUE(buffer.add("", ""));
}

TEST(SortShape, KeepsToItsMemoryAndMergesTwoAtLeast) {
  for (const std::size_t memory : {0UL, 65536UL, 100'000UL, 1UL << 20U, 77UL << 20U, 9UL << 30U}) {
    for (const std::size_t threads : {0UL, 1UL, 2UL, 7UL, 1000UL}) {
      const SortShape shape = SortShape::of(memory, threads);
      const std::size_t writers = std::max<std::size_t>(shape.threads, 1);
      EXPECT_LE(writers * 2 * shape.block_bytes + (shape.threads + 1) * shape.buffer_bytes,
                shape.memory_bytes);
      EXPECT_GE(shape.fan_in(shape.record_bytes_max), 2U) << memory << " " << threads;
      EXPECT_GT(shape.record_bytes_max, shape.memory_bytes / 300);
    }
  }
}

TEST(SortShape, TellsWhatTheFileTakes) {
  const SortShape shape = SortShape::of(std::size_t{1} << 20U, 1);
  const std::uint64_t record = 100;
  EXPECT_EQ(shape.file_bytes(1000, 1000 * record, record), 0U);
  for (const std::uint64_t records : {std::uint64_t{20'000}, std::uint64_t{100'000}}) {
    const std::uint64_t payload = records * (record + sizeof(RecordLengths));
    EXPECT_GE(shape.file_bytes(records, records * record, record), payload);
    EXPECT_LE(shape.file_bytes(records, records * record, record), payload + payload / 10);
  }
  const std::uint64_t many = 1'000'000;  // more than are merged at once
  EXPECT_GT(shape.file_bytes(many, many * record, record), many * (record + 16));
}

TEST(LoserTree, MergesAnyNumberOfSources) {
  palimpsest::test::SimRandom random(1);
  for (std::size_t count = 1; count < 20; ++count) {
    SortMemory memory(count * 4096);
    std::vector<SortBuffer> buffers;
    test::Records all;
    for (std::size_t source = 0; source < count; ++source) {
      buffers.emplace_back(memory.take(4096));
      for (const auto& [key, value] : test::random_records(random, random.below(20), 3, 2)) {
        ASSERT_TRUE(buffers.back().add(key, value));
        all.emplace_back(key, value);
      }
      buffers.back().sort();
    }
    std::vector<std::unique_ptr<BufferSource>> sources;
    std::vector<RecordSource*> pointers;
    pointers.reserve(count);
    for (const SortBuffer& buffer : buffers) {
      pointers.push_back(sources.emplace_back(std::make_unique<BufferSource>(buffer)).get());
    }
    LoserTree tree(pointers);
    test::Records merged;
    while (tree.next()) {
      merged.emplace_back(tree.top().key(), tree.top().value());
    }
    EXPECT_EQ(merged, test::sorted(all));
    EXPECT_FALSE(tree.next());
  }
}

TEST(RunBlocks, AreCutAtTheirPayload) {
  const RunBlocks blocks(2 * kPage);
  EXPECT_EQ(blocks.file_bytes(1), kPage);
  EXPECT_EQ(blocks.file_bytes(kPage - 32), kPage);
  EXPECT_EQ(blocks.file_bytes(kPage - 31), 2 * kPage);
  EXPECT_EQ(blocks.file_bytes(blocks.payload_max()), 2 * kPage);
  EXPECT_EQ(blocks.file_bytes(blocks.payload_max() + 1), 3 * kPage);
  EXPECT_EQ(blocks.count(2 * blocks.payload_max()), 2U);
}

TEST(RunBlocks, TellAnotherBlockAndADamagedOne) {
  SortMemory memory(kPage);
  const MutableBytes block = memory.take(kPage);
  seal_block(block, 3, 7, 100);
  EXPECT_FALSE(fault_of_block(block, 3, 7, 100));
  EXPECT_TRUE(fault_of_block(block, 2, 7, 100));
  EXPECT_TRUE(fault_of_block(block, 3, 6, 100));
  EXPECT_TRUE(fault_of_block(block, 3, 7, 99));
  for (std::size_t byte = 0; byte < 132; ++byte) {
    block[byte] ^= std::byte{1};
    EXPECT_TRUE(fault_of_block(block, 3, 7, 100)) << byte;
    block[byte] ^= std::byte{1};
  }
}

TEST(SortFile, HasNoNameAndUsesItsPartsAgain) {
  const test::Disk disk;
  SortFile file(*disk.device, kSortFilePrefix);
  EXPECT_EQ(file.take(2 * kPage), 0U);
  EXPECT_THAT(disk.device->list(), IsEmpty());
  EXPECT_EQ(file.take(3 * kPage), 2 * kPage);
  EXPECT_EQ(file.take(kPage), 5 * kPage);
  file.give_back(0, 2 * kPage);
  file.give_back(5 * kPage, kPage);
  file.give_back(2 * kPage, 3 * kPage);
  EXPECT_EQ(file.take(6 * kPage), 0U);
  file.give_back(0, 6 * kPage);
  EXPECT_EQ(file.take(4 * kPage), 0U);
  EXPECT_EQ(file.take(4 * kPage), 4 * kPage);
  EXPECT_EQ(file.size_bytes(), 8 * kPage);
}

TEST(SortFile, TakesTheNextNameIfOneIsTaken) {
  const test::Disk disk;
  static_cast<void>(disk.device->open("sort-1.tmp", io::OpenMode::create_new, false));
  SortFile file(*disk.device, kSortFilePrefix);
  static_cast<void>(file.take(kPage));
  EXPECT_THAT(file.file().name(), ::testing::HasSubstr("sort-2.tmp"));
}

TEST(SortFile, OnlyFilesOfSortsAreRemoved) {
  const test::Disk disk;
  const std::vector<std::string> others{
      "pages",  "sort-.tmp", "sort-1.tmp.old", "sort-1x.tmp", "xsort-1.tmp",
      "sort-1", "sort.tmp",  "sort--1.tmp",    "log-0001",    "mine-sort-1.tmp"};
  for (const std::string& name : others) {
    static_cast<void>(disk.device->open(name, io::OpenMode::create_new, false));
  }
  for (const std::string_view name : {"sort-1.tmp", "sort-007.tmp", "sort-123456.tmp"}) {
    static_cast<void>(disk.device->open(name, io::OpenMode::create_new, false));
  }
  remove_sort_files(*disk.device);
  EXPECT_THAT(disk.device->list(), ::testing::UnorderedElementsAreArray(others));
}

}  // namespace
}  // namespace palimpsest::bulk
