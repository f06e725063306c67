#include "experiments/tables/random.h"

#include <algorithm>
#include <string_view>

namespace palimpsest::experiments {
namespace {

constexpr std::string_view kAlphanumeric =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

/// Characters of `set`, ten of each word that is drawn: size^10 fits 64 bits.
void fill(Random& random, std::string_view set, std::span<char> out) noexcept {
  constexpr std::size_t kCharactersOfWord = 10;
  std::uint64_t words = 1;
  for (std::size_t i = 0; i < kCharactersOfWord; ++i) {
    words *= set.size();
  }
  for (std::size_t at = 0; at < out.size(); at += kCharactersOfWord) {
    std::uint64_t word = random.below(words);
    const std::size_t end = std::min(out.size(), at + kCharactersOfWord);
    for (std::size_t i = at; i < end; ++i) {
      out[i] = set[word % set.size()];
      word /= set.size();
    }
  }
}

}  // namespace

void fill_alphanumeric(Random& random, std::span<char> out) noexcept {
  fill(random, kAlphanumeric, out);
}

void fill_capitals(Random& random, std::span<char> out) noexcept {
  fill(random, kCapitals, out);
}

void fill_digits(Random& random, std::span<char> out) noexcept {
  fill(random, kDigits, out);
}

}  // namespace palimpsest::experiments
