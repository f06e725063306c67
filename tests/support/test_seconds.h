// How long tests go on that try random things for as long as they may.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace palimpsest::test {

/// How long a time-bounded test runs: PALIMPSEST_TEST_SECONDS, or `otherwise` times
/// PALIMPSEST_TEST_SHARE, which is 1 if not given. Three fifths of that in builds with a sanitizer:
/// what such a test meets by chance it is given time for in release builds, and most of them run
/// under both sanitizers.
[[nodiscard]] double test_seconds(double otherwise);

/// Of something random, so many: a quarter of that in builds with checks and sanitizers, which make
/// each dear.
[[nodiscard]] int repeats(int count);

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

/// The numbers below `count`, once each, for tests of something at every place: as many as a share
/// of time allows, and those lie evenly among all. In builds without checks and sanitizers, where
/// each is cheap, there is time for all of them nearly always. PALIMPSEST_TEST_SECONDS is the share
/// in any build. Says at its end how far it came.
///
///   for (test::Sweep sweep(points.size(), 20, 5); const auto point = sweep.next();) { ... }
class Sweep {
 public:
  /// At least `count_min` of them, then for `seconds`; for some more where they are cheap.
  Sweep(std::uint64_t count, std::uint64_t count_min, double seconds);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// The next one; nothing if that is enough.
  [[nodiscard]] std::optional<std::uint64_t> next();

 private:
  std::uint64_t count_;
  std::uint64_t count_min_;
  std::uint64_t stride_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace palimpsest::test
