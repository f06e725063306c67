// Memory in slabs: objects do not overlap, other sizes and other threads reuse blocks, unused slabs
// are returned, and objects that do not fit come from the heap.
#include "base/slab_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

constexpr std::size_t kRange = std::size_t{16} << 20;

/// An object filled with a pattern that identifies it.
struct Object {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
  std::byte mark{};

  [[nodiscard]] bool is_untouched() const {
    return std::all_of(at, at + bytes, [&](std::byte byte) { return byte == mark; });
  }
};

Object make(SlabMemory& memory, std::size_t bytes, std::uint64_t number) {
  Object object{static_cast<std::byte*>(memory.allocate(bytes)), bytes,
                static_cast<std::byte>(number % 251)};
  std::fill_n(object.at, bytes, object.mark);
  return object;
}

void end(SlabMemory& memory, const Object& object) {
  EXPECT_TRUE(object.is_untouched());
  memory.deallocate(object.at, object.bytes);
}

std::size_t resident_bytes(void* begin, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(begin, bytes, pages.data()), 0);
  return static_cast<std::size_t>(
             std::ranges::count_if(pages, [](unsigned char page) { return (page & 1U) != 0; })) *
         4096;
}

TEST(SlabMemory, ObjectsOfAllSizesLieApart) {
  SlabMemory memory(kRange);
  std::vector<Object> objects;
  std::uint64_t bytes = 0;
  for (std::size_t size = 1; size <= SlabMemory::kObjectBytesMax + 200; size += 7) {
    objects.push_back(make(memory, size, size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(objects.back().at) % kCacheLineBytes, 0U) << size;
    bytes += size;
  }
  EXPECT_EQ(memory.bytes_in_use(), bytes);
  for (const Object& object : objects) {
    end(memory, object);
  }
  EXPECT_EQ(memory.bytes_in_use(), 0U);
}

TEST(SlabMemory, TakesLittleMoreThanIsAskedFor) {
  SlabMemory memory(kRange);
  for (std::size_t size = kCacheLineBytes; size <= SlabMemory::kObjectBytesMax;
       size += kCacheLineBytes) {
    const std::size_t count = 8 * SlabMemory::kBlockBytes / size;
    std::vector<Object> objects;
    objects.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      objects.push_back(make(memory, size, i));
    }
    EXPECT_LE(memory.block_bytes(), count * size * 3 / 2 + 30 * SlabMemory::kBlockBytes) << size;
    for (const Object& object : objects) {
      end(memory, object);
    }
  }
}

TEST(SlabMemory, BlocksAreUsedForOtherSizes) {
  SlabMemory memory(kRange);
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}, std::size_t{192}}) {
    std::vector<Object> objects;
    for (std::size_t bytes = 0; bytes < kRange * 3 / 4; bytes += size) {
      objects.push_back(make(memory, size, bytes));
    }
    EXPECT_GE(memory.block_bytes(), kRange * 3 / 4) << "not from the heap";
    for (const Object& object : objects) {
      end(memory, object);
    }
    EXPECT_LE(memory.block_bytes(), 4 * SlabMemory::kBlockBytes);
  }
}

TEST(SlabMemory, HolesAreFilled) {
  SlabMemory memory(kRange);
  std::vector<Object> objects;
  for (std::size_t bytes = 0; bytes < kRange / 2; bytes += 256) {
    objects.push_back(make(memory, 256, bytes));
  }
  const std::uint64_t blocks = memory.block_bytes();
  for (std::size_t i = 0; i < objects.size(); i += 10) {
    end(memory, objects[i]);
  }
  for (std::size_t i = 0; i < objects.size(); i += 10) {
    objects[i] = make(memory, 256, i);
  }
  EXPECT_EQ(memory.block_bytes(), blocks);
  for (const Object& object : objects) {
    end(memory, object);
  }
}

TEST(SlabMemory, AnObjectThatComesAndGoesNeedsNoOtherBlock) {
  SlabMemory memory(kRange);
  void* const first = memory.allocate(100);
  memory.deallocate(first, 100);
  for (int i = 0; i < 1000; ++i) {
    void* const again = memory.allocate(100);
    EXPECT_EQ(again, first);
    memory.deallocate(again, 100);
  }
  EXPECT_EQ(memory.block_bytes(), SlabMemory::kBlockBytes);
}

TEST(SlabMemory, HasRoomInTheHeapWhenTheRangeIsFull) {
  SlabMemory memory(1);  // one region
  std::vector<Object> objects;
  for (std::size_t bytes = 0; bytes < 2 * SlabMemory::kRegionBytes; bytes += 1024) {
    objects.push_back(make(memory, 1024, bytes));
  }
  EXPECT_EQ(memory.block_bytes(), SlabMemory::kRegionBytes);
  EXPECT_EQ(memory.bytes_in_use(), 2 * SlabMemory::kRegionBytes);
  for (const Object& object : objects) {
    end(memory, object);
  }
  EXPECT_EQ(memory.bytes_in_use(), 0U);
}

TEST(SlabMemory, WithoutARangeAllComesFromTheHeap) {
  SlabMemory memory(0);
  const Object object = make(memory, 64, 1);
  EXPECT_EQ(memory.block_bytes(), 0U);
  EXPECT_EQ(memory.bytes_in_use(), 64U);
  end(memory, object);
}

TEST(SlabMemory, MemoryUnusedForSomeTimeGoesBack) {
  SlabMemory memory(kRange);
  std::vector<Object> objects;
  const auto fill = [&] {
    for (std::size_t bytes = objects.size() * 4096; bytes < kRange / 2; bytes += 4096) {
      objects.push_back(make(memory, 4096, bytes));
    }
  };
  const auto empty = [&] {
    for (; objects.size() > 1; objects.pop_back()) {
      end(memory, objects.back());
    }
  };
  fill();
  auto* const begin = std::ranges::min_element(objects, {}, &Object::at)->at;
  const auto resident = [&] { return resident_bytes(begin, kRange / 2); };
  for (int i = 0; i < 3; ++i) {
    empty();
    memory.give_back_idle();
    EXPECT_GE(resident(), kRange / 2) << "it has been needed since the last time";
    fill();
  }
  empty();
  memory.give_back_idle();
  memory.give_back_idle();
  EXPECT_LE(resident(), 2 * SlabMemory::kRegionBytes);
  fill();
  EXPECT_GE(resident(), kRange / 2) << "what was given back can be used again";
  for (const Object& object : objects) {
    end(memory, object);
  }
}

TEST(SlabMemory, TheLowestFreeObjectIsTakenFirst) {
  SlabMemory memory(kRange);
  std::vector<Object> objects;
  for (std::size_t i = 0; i < 300; ++i) {
    objects.push_back(make(memory, 64, i));
    EXPECT_EQ(objects.back().at, objects.front().at + i * 64);
  }
  for (const std::size_t i : {250U, 70U, 3U, 130U}) {
    end(memory, objects[i]);
  }
  for (const std::size_t i : {3U, 70U, 130U, 250U}) {
    const auto* const was = objects[i].at;
    objects[i] = make(memory, 64, i);
    EXPECT_EQ(objects[i].at, was);
  }
  for (const Object& object : objects) {
    end(memory, object);
  }
}

// Each thread makes objects, and frees those of other threads, too.
TEST(SlabMemoryStress, ThreadsGiveBackObjectsOfOtherThreads) {
  constexpr std::size_t kThreads = 6;
  constexpr std::size_t kTurns = 20'000;
  SlabMemory memory(kRange);
  std::array<std::pair<std::mutex, std::vector<Object>>, kThreads> shelves;
  test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(thread + 1);
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      auto& [mutex, shelf] = shelves[random.below(kThreads)];
      Object gone{};
      const Object made = make(memory, 1 + random.below(random.below(4) == 0 ? 4096 : 200), turn);
      {
        const std::lock_guard lock(mutex);
        shelf.push_back(made);
        if (shelf.size() > 200 || random.below(3) == 0) {
          std::swap(shelf[random.below(shelf.size())], shelf.back());
          gone = shelf.back();
          shelf.pop_back();
        }
      }
      if (gone.at != nullptr) {
        end(memory, gone);
      }
      if (turn % 1000 == 0) {
        memory.give_back_idle();
      }
    }
  });
  std::uint64_t left = 0;
  for (auto& [mutex, shelf] : shelves) {
    for (const Object& object : shelf) {
      left += object.bytes;
    }
  }
  EXPECT_EQ(memory.bytes_in_use(), left);
  for (auto& [mutex, shelf] : shelves) {
    for (const Object& object : shelf) {
      end(memory, object);
    }
  }
  EXPECT_EQ(memory.bytes_in_use(), 0U);
}

}  // namespace
}  // namespace palimpsest
