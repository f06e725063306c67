// Pseudo-text by the grammar of clause 4.2.2.10, from which comments are cut.
//
// As the specification has it, comments are substrings of one long text: cutting one costs a copy,
// making it by the grammar would cost a draw for each word. Ours has 16 MiB, not 300 MB, so that it
// is made in a moment and every processor's share of a cache holds some of it.
// Words that queries look for have larger weights, as in the TPC's own program.
// Thread-safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"

namespace palimpsest::experiments::tpch {

class Prose {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 20U;

  explicit Prose(std::uint64_t seed);

  /// A piece of min to max bytes, uniform in length and place. It may begin and end within a word.
  [[nodiscard]] std::string_view piece(Random& random, std::size_t min, std::size_t max) const {
    const std::size_t bytes = random.between(min, max);
    return std::string_view(text_).substr(random.below(kBytes - bytes + 1), bytes);
  }
  /// All of it: whole sentences, but for the last.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace palimpsest::experiments::tpch
