#include "base/checksum.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstddef>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest {
namespace {

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

// Later builds and other machines read the files: the value is part of the format.
TEST(Checksum, KnownValues) {
  EXPECT_EQ(checksum({}), 0x2d06800538d394c2U);
  const std::vector<std::byte> zeros(4096);
  EXPECT_EQ(checksum(zeros), XXH3_64bits(zeros.data(), zeros.size()));
}

// The library's own code takes other paths (no AVX2) than ours: all sizes and alignments agree.
TEST(Checksum, AgreesWithTheLibrary) {
  Random random(test::seed());
  const auto bytes = random_bytes(random, 70'000);
  for (std::size_t size = 0; size < 1100; ++size) {
    const std::size_t start = random.below(64);
    ASSERT_EQ(checksum(ConstBytes(bytes).subspan(start, size)),
              XXH3_64bits(bytes.data() + start, size))
        << "size " << size << ", start " << start;
  }
  for (const std::size_t size : {4088U, 8184U, 16376U, 65528U}) {
    ASSERT_EQ(checksum(ConstBytes(bytes).first(size)), XXH3_64bits(bytes.data(), size));
  }
}

TEST(Checksum, NoticesEveryBitOfAPage) {
  Random random(test::seed());
  auto page = random_bytes(random, 4096);
  const auto before = checksum(page);
  for (std::size_t bit = 0; bit < page.size() * 8; bit += 1 + random.below(16)) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    page[bit / 8] ^= mask;
    ASSERT_NE(checksum(page), before) << "bit " << bit;
    page[bit / 8] ^= mask;
  }
  EXPECT_EQ(checksum(page), before);
}

}  // namespace
}  // namespace palimpsest
