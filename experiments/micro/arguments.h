// The command lines of the small benchmarks here: an empty directory, then numbers by position.
//
// Failure: std::invalid_argument, whose message says which argument and what it may be.
#pragma once

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace palimpsest::experiments {

class Arguments {
 public:
  /// `words`: main's.
  Arguments(int count, char** words) : words_(words, static_cast<std::size_t>(count)) {}

  /// Refuses a command line without a directory, with a flag, or with too many words.
  void check_places(std::size_t places) const {
    if (words_.size() < 2 || std::string_view(words_[1]).starts_with('-')) {
      throw std::invalid_argument("the first argument is an empty directory");
    }
    if (words_.size() > places + 1) {
      throw std::invalid_argument(fmt::format("{}: one argument too many", words_[places + 1]));
    }
  }

  [[nodiscard]] std::string text(std::size_t place, std::string_view otherwise = {}) const {
    return place < words_.size() ? words_[place] : std::string(otherwise);
  }

  /// A whole number within bounds; `what` it is.
  [[nodiscard]] std::uint64_t number(std::size_t place, std::string_view what, std::uint64_t least,
                                     std::uint64_t most, std::uint64_t otherwise) const {
    if (place >= words_.size()) {
      return otherwise;
    }
    const std::string_view word = words_[place];
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < least || value > most) {
      throw std::invalid_argument(
          fmt::format("{}: {} is a number from {} to {}", word, what, least, most));
    }
    return value;
  }

 private:
  std::span<char*> words_;
};

}  // namespace palimpsest::experiments
