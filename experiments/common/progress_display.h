// Progress for people: lines, and a bar that is redrawn in place, or printed once a second if the
// output is no terminal.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace palimpsest::experiments {

/// Progress of work with a known end.
struct Progress {
  std::string_view what;  ///< "loading"
  std::string_view unit;  ///< "rows"
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  double seconds = 0;  ///< since it began
};

/// "loading [#####.....]  50 %  1,000 of 2,000 rows, 500 rows/s, 2 s left"
[[nodiscard]] std::string bar_text(const Progress& progress);

class ProgressDisplay {
 public:
  /// `out` outlives the display; nothing is shown if it is nullptr.
  explicit ProgressDisplay(std::FILE* out);

  void line(std::string_view text);
  /// Call this several times a second.
  void bar(const Progress& progress);
  /// The final bar.
  void end_bar(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::FILE* out_;
  bool redraws_;
  Clock::time_point next_bar_{};
};

}  // namespace palimpsest::experiments
