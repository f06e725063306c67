// The duration of random tests that are bounded by time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace palimpsest::test {

/// How long a time-bounded test runs: PALIMPSEST_TEST_SECONDS, or `otherwise` times
/// PALIMPSEST_TEST_SHARE, which is 1 if not given. Three fifths of that in builds with a sanitizer:
/// release builds have enough time for rare interleavings, and most of these tests run under both
/// sanitizers.
[[nodiscard]] double test_seconds(double otherwise);

/// The number of repetitions of a random step: `count`, or a quarter of it in builds with checks
/// and sanitizers, which make each slow.
[[nodiscard]] int repeats(int count);

/// The rounds of a random test: a minimum, and more until its time is over. Prints their number at
/// the end.
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

/// The numbers below `count`, once each, for tests of something at every point: as many as a share
/// of time allows, evenly spread. In builds without checks and sanitizers, where each is fast,
/// there is nearly always time for all of them. PALIMPSEST_TEST_SECONDS is the share in any build.
/// Prints at its end how far it came.
///
///   for (test::Sweep sweep(points.size(), 20, 5); const auto point = sweep.next();) { ... }
class Sweep {
 public:
  /// At least `count_min` of them, then for `seconds`; for some more where they are fast.
  Sweep(std::uint64_t count, std::uint64_t count_min, double seconds);
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  /// The next one; nothing if there were enough.
  [[nodiscard]] std::optional<std::uint64_t> next();

 private:
  std::uint64_t count_;
  std::uint64_t count_min_;
  std::uint64_t stride_;
  std::uint64_t done_ = 0;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace palimpsest::test
