// How long tests go on that try random things for as long as they may.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace palimpsest::test {

/// How long a time-bounded test runs: PALIMPSEST_TEST_SECONDS, or `otherwise`.
[[nodiscard]] double test_seconds(double otherwise);

/// The rounds of a random test: some at least, and more until its time is over. Says at its end how
/// many there were.
///
///   for (test::Rounds rounds(10); rounds.next();) { ... }
class Rounds {
 public:
  /// At least so many rounds, for test_seconds(seconds).
  explicit Rounds(int rounds_min, double seconds = 0.3);
  ~Rounds();
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  /// Whether there is one more.
  [[nodiscard]] bool next();

 private:
  int rounds_min_;
  int rounds_ = 0;
  std::chrono::steady_clock::time_point until_;
};

/// The numbers below `count`, in an order of which any first part lies evenly among them: for whom
/// time runs out.
[[nodiscard]] std::vector<std::size_t> spread(std::size_t count);

}  // namespace palimpsest::test
