// A value of 100 MiB passes through a process that hardly grows. In a binary of its own, because
// the peak of a process's memory cannot be reset.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <random>
#include <string>

#include "base/io/posix_device.h"
#include "tests/btree/large_value_test_support.h"

namespace palimpsest::btree::test {
namespace {

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

TEST(LargeValueMemory, AHundredMebibytesAreStreamed) {
  constexpr std::uint64_t kSize = std::uint64_t{100} << 20;
  constexpr std::uint64_t kPiece = 100'000;
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) /
      ("large_value_memory." + std::to_string(std::random_device{}()));
  {
    io::PosixDevice device(directory.string(), true);
    const auto db = LargeValueFile::create(device, 16384);
    const std::uint64_t before = peak_resident_bytes();
    LargeValueStore::Writer writer = db->store.begin(kSize);
    std::string piece;
    while (writer.missing_bytes() != 0) {
      const std::uint64_t at = kSize - writer.missing_bytes();
      piece.resize(std::min(kPiece, kSize - at));
      fill_pattern(7, at, piece);
      writer.append(piece);
    }
    const LargeValueDescriptor value = writer.finish();
    std::string expected;
    for (std::uint64_t at = 0; at < kSize; at += 3'000'000) {
      const std::uint64_t size = std::min<std::uint64_t>(3'000'000, kSize - at);
      ASSERT_EQ(read_piece(db->store, value, at, size, piece), ReadOutcome::complete);
      expected.resize(size);
      fill_pattern(7, at, expected);
      ASSERT_TRUE(piece == expected) << "at " << at;
    }
    db->store.verify(value);
    // Two buffers of the store, and the pieces of this test.
    EXPECT_LT(peak_resident_bytes() - before, 2 * kExtentBufferBytes + (std::uint64_t{10} << 20));
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace palimpsest::btree::test
