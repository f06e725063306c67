// The memory a sort allocates never exceeds its budget, whatever it sorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/io/open_device.h"
#include "bulk/sort/external_sort.h"
#include "tests/support/sim_random.h"
#include "tests/support/temporary_directory.h"

namespace {

// operator new has nowhere else to look.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::size_t> in_use{0};
std::atomic<std::size_t> most_in_use{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Precedes every allocation: its size and its base address.
struct Piece {
  void* begin;
  std::size_t bytes;
};

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t before = std::max(alignment, sizeof(Piece));
  void* begin = nullptr;
  if (posix_memalign(&begin, before, before + bytes) != 0) {
    throw std::bad_alloc();
  }
  auto* const memory = static_cast<std::byte*>(begin) + before;
  new (memory - sizeof(Piece)) Piece{.begin = begin, .bytes = bytes};
  const std::size_t now = in_use.fetch_add(bytes) + bytes;
  std::size_t most = most_in_use.load();
  while (most < now && !most_in_use.compare_exchange_weak(most, now)) {
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    const Piece piece = *reinterpret_cast<Piece*>(static_cast<std::byte*>(memory) - sizeof(Piece));
    in_use.fetch_sub(piece.bytes);
    std::free(piece.begin);
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace palimpsest::bulk {
namespace {

TEST(SortMemory, IsWhatWasGiven) {
  const palimpsest::test::TemporaryDirectory directory(palimpsest::test::memory_file_system());
  const auto device = io::open_device(directory.path(), {});
  for (const std::size_t memory : {std::size_t{1} << 16U, std::size_t{1} << 20U}) {
    for (const std::size_t threads : {0U, 1U, 3U}) {
      palimpsest::test::SimRandom random(1);
      const std::size_t before = in_use.load();
      most_in_use = before;
      std::size_t records = 0;
      {
        ExternalSort sort(*device, {.memory_bytes = memory, .threads = threads});
        std::string key(20, 'k');
        const std::string value(sort.record_bytes_max() - 20, 'v');
        for (std::uint64_t bytes = 0; bytes < 30 * memory; ++records) {
          std::generate(key.begin(), key.end(), [&] { return static_cast<char>(random.next()); });
          const std::size_t length = random.chance(1) ? value.size() : random.below(50);
          sort.add(key, std::string_view(value).substr(0, length));
          bytes += key.size() + length;
        }
        sort.finish();
        while (sort.next()) {
          --records;
        }
        EXPECT_GT(sort.statistics().runs, 20U);
      }
      EXPECT_EQ(records, 0U);
      // Runs, threads, and transfers of the device beside the records.
      constexpr std::size_t kBeside = 64U << 10U;
      EXPECT_LT(most_in_use.load() - before, memory + memory / 4 + kBeside) << threads;
      EXPECT_LE(in_use.load(), before + 4096);
    }
  }
}

}  // namespace
}  // namespace palimpsest::bulk
