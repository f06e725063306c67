// Fuzz target: any bytes as a node page.
//
// Input: the page image, truncated or padded with zeros; the bytes after it decide the changes.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz_page.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/node_exercise.h"

using palimpsest::btree::fuzz::Choices;
using palimpsest::btree::fuzz::FuzzPage;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kPageSize = 4096;
  const FuzzPage page(kPageSize);
  const std::size_t image_bytes = std::min<std::size_t>(size, kPageSize);
  std::memset(page.data(), 0, kPageSize);
  if (image_bytes != 0) {
    std::memcpy(page.data(), data, image_bytes);
  }
  Choices choices({data + image_bytes, size - image_bytes});
  palimpsest::btree::fuzz::exercise_node(page.data(), kPageSize, choices);
  return 0;
}
