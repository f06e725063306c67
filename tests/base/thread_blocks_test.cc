// Blocks that a thread keeps: a call that has reserved them needs no memory from the system, and
// one that cannot is told before it does anything.
#include "base/thread_blocks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/start_thread.h"
#include "tests/support/child_process.h"
#include "tests/support/system_call_filter.h"

namespace palimpsest {
namespace {

constexpr int kAsExpected = 0;
constexpr int kNoFilter = 1;
constexpr int kToldTooLate = 2;
constexpr int kOtherError = 3;

/// From now on no memory is mapped.
bool forbid_mapping() {
  return test::forbid_calls({SCMP_SYS(mmap)}, ENOMEM);
}

void write_to(const ThreadBlock& block) {
  std::memset(block.data(), 1, ThreadBlock::kBytes);
}

bool is_mapped(const std::byte* block) {
  std::array<unsigned char, ThreadBlock::kBytes / 4096> resident{};
  void* const memory = const_cast<std::byte*>(block);
  return ::mincore(memory, ThreadBlock::kBytes, resident.data()) == 0;
}

std::vector<ThreadBlock> take(std::size_t count) {
  std::vector<ThreadBlock> blocks(count);
  for (ThreadBlock& block : blocks) {
    block.take();
    write_to(block);
  }
  return blocks;
}

TEST(ThreadBlocks, WhatIsReservedNeedsNoMemoryFromTheSystem) {
  EXPECT_EQ(test::run_in_child([] {
              reserve_thread_blocks();
              std::vector<ThreadBlock> blocks(ThreadBlock::kReserved);
              if (!forbid_mapping()) {
                return kNoFilter;
              }
              for (int round = 0; round < 3; ++round) {
                reserve_thread_blocks();
                for (ThreadBlock& block : blocks) {
                  block.take();
                  write_to(block);
                }
                for (ThreadBlock& block : blocks) {
                  block = ThreadBlock();
                }
              }
              return kAsExpected;
            }),
            kAsExpected);
}

TEST(ThreadBlocks, ACallWithoutMemoryIsToldWhenItBegins) {
  EXPECT_EQ(test::run_in_child([] {
              reserve_thread_blocks();
              const std::vector<ThreadBlock> held = take(2);
              if (!forbid_mapping()) {
                return kNoFilter;
              }
              try {
                reserve_thread_blocks();
              } catch (const Error& error) {
                return error.code() == ErrorCode::out_of_memory ? kAsExpected : kOtherError;
              }
              return kToldTooLate;
            }),
            kAsExpected);
}

TEST(ThreadBlocks, BlocksAreDistinctAndUsedAgain) {
  std::thread([] {
    reserve_thread_blocks();
    ThreadBlock one;
    ThreadBlock other;
    EXPECT_FALSE(one.has_memory());
    one.take();
    other.take();
    ASSERT_TRUE(one.has_memory() && other.has_memory());
    EXPECT_NE(one.data(), other.data());
    write_to(one);
    write_to(other);
    const std::byte* const memory = other.data();
    other = ThreadBlock();
    ThreadBlock next;
    next.take();
    EXPECT_EQ(next.data(), memory);
    const ThreadBlock moved = std::move(next);
    EXPECT_FALSE(next.has_memory());  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(moved.data(), memory);
  }).join();
}

TEST(ThreadBlocks, AThreadThatEndsKeepsNone) {
  std::vector<const std::byte*> seen;
  std::thread([&] {
    reserve_thread_blocks();
    const std::vector<ThreadBlock> blocks = take(3);
    for (const ThreadBlock& block : blocks) {
      seen.push_back(block.data());
    }
  }).join();
  ASSERT_EQ(seen.size(), 3U);
  for (const std::byte* const block : seen) {
    EXPECT_FALSE(is_mapped(block));
  }
}

// More than a thread keeps are given back to the system; what another one took may end here.
TEST(ThreadBlocks, BlocksMayEndInAnotherThread) {
  std::vector<ThreadBlock> blocks;
  std::thread([&] { blocks = take(ThreadBlock::kReserved + 4); }).join();
  const std::byte* const last = blocks.back().data();
  for (const ThreadBlock& block : blocks) {
    ASSERT_TRUE(is_mapped(block.data()));
    write_to(block);
  }
  std::thread([&] { blocks.clear(); }).join();
  EXPECT_FALSE(is_mapped(last));
}

TEST(ThreadBlocks, AThreadOfTheEngineBeginsWithThem) {
  int status = kNoFilter;
  EXPECT_EQ(test::run_in_child([&] {
              start_thread("that takes blocks", [&] {
                if (forbid_mapping()) {
                  static_cast<void>(take(ThreadBlock::kReserved).size());
                  status = kAsExpected;
                }
              }).join();
              return status;
            }),
            kAsExpected);
}

}  // namespace
}  // namespace palimpsest
