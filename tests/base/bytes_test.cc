// Comparison of bytes, of all lengths: at the very end of readable memory.
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/random.h"
#include "tests/support/last_page.h"
#include "tests/support/seed.h"

namespace palimpsest {
namespace {

/// A copy that ends where the page does.
const char* copy_at_end(const test::LastPage& page, const std::string& bytes) {
  std::byte* const at = page.end() - bytes.size();
  std::memcpy(at, bytes.data(), bytes.size());
  return static_cast<const char*>(static_cast<const void*>(at));
}

TEST(EqualBytes, LooksAtEachByteAndAtNoneBeyond) {
  const test::LastPage one(4096);
  const test::LastPage other(4096);
  Random random(test::seed());
  for (std::size_t length = 0; length <= 70; ++length) {
    std::string bytes(length, '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random.below(256));
    }
    const char* const there = copy_at_end(one, bytes);
    EXPECT_TRUE(equal_bytes(there, copy_at_end(other, bytes), length)) << length;
    for (std::size_t i = 0; i < length; ++i) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << random.below(8)));
      EXPECT_FALSE(equal_bytes(there, copy_at_end(other, changed), length))
          << i << " of " << length;
    }
  }
}

}  // namespace
}  // namespace palimpsest
