// Runs a fuzz target without libFuzzer: on the files given as arguments, or on generated inputs.
//
// usage: <target> [file...]          runs each file
//        <target> -runs=N            runs N generated inputs; the seed is PALIMPSEST_SEED, or 1
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kInputBytesMax = 8192;

/// New bytes, or a variation of the previous input: bytes changed, a part repeated or cut off.
Input next_input(palimpsest::Random& random, const Input& previous) {
  Input input = previous;
  if (previous.empty() || random.one_in(8)) {
    input.resize(random.below(random.one_in(4) ? kInputBytesMax : 512));
    std::generate(input.begin(), input.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return input;
  }
  for (std::uint64_t edits = random.below(8); edits > 0 && !input.empty(); --edits) {
    std::uint8_t& byte = input[random.below(input.size())];
    byte = static_cast<std::uint8_t>(random.one_in(2) ? random() : byte ^ (1U << random.below(8)));
  }
  if (random.one_in(4)) {
    input.resize(random.below(input.size() + 1));
  }
  while (random.one_in(2) && input.size() < kInputBytesMax) {
    input.push_back(static_cast<std::uint8_t>(random()));
  }
  return input;
}

std::uint64_t seed() {
  const char* given = std::getenv("PALIMPSEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
}

int run_generated(std::uint64_t runs) {
  fmt::print("PALIMPSEST_SEED={} reruns this, {} inputs\n", seed(), runs);
  palimpsest::Random random(seed());
  Input input;
  for (std::uint64_t i = 0; i < runs; ++i) {
    input = next_input(random, input);
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view kRuns = "-runs=";
  if (argc == 2 && std::string_view(argv[1]).starts_with(kRuns)) {
    return run_generated(std::strtoull(argv[1] + kRuns.size(), nullptr, 10));
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      fmt::print(stderr, "cannot read {}\n", argv[i]);
      return 1;
    }
    const Input input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  return 0;
}
