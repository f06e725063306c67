#include "experiments/common/progress_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace palimpsest::experiments {
namespace {

constexpr std::size_t kBarColumns = 30;
constexpr std::chrono::seconds kLineEvery{1};

/// 1234567 is "1,234,567".
std::string grouped(std::uint64_t number) {
  const std::string digits = fmt::format("{}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string bar_text(const Progress& progress) {
  const std::uint64_t total = std::max<std::uint64_t>(progress.total, 1);
  const std::uint64_t done = std::min(progress.done, total);
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const auto filled = static_cast<std::size_t>(share * kBarColumns);
  const double rate =
      progress.seconds > 0 ? static_cast<double>(progress.done) / progress.seconds : 0.0;
  std::string text = fmt::format("{} [{:#>{}}{:.>{}}] {:3.0f} %  {} of {} {}, {} {}/s",
                                 progress.what, "", filled, "", kBarColumns - filled, share * 100,
                                 grouped(progress.done), grouped(progress.total), progress.unit,
                                 grouped(static_cast<std::uint64_t>(rate)), progress.unit);
  if (rate > 0) {
    text += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
  }
  return text;
}

ProgressDisplay::ProgressDisplay(std::FILE* out)
    : out_(out), redraws_(out != nullptr && ::isatty(::fileno(out)) == 1) {}

void ProgressDisplay::line(std::string_view text) {
  if (out_ != nullptr) {
    fmt::print(out_, "{}\n", text);
    std::fflush(out_);
  }
}

void ProgressDisplay::bar(const Progress& progress) {
  if (redraws_) {
    fmt::print(out_, "\r{}\x1b[K", bar_text(progress));
    std::fflush(out_);
  } else if (const auto now = Clock::now(); now >= next_bar_) {
    next_bar_ = now + kLineEvery;
    line(bar_text(progress));
  }
}

void ProgressDisplay::end_bar(const Progress& progress) {
  line(fmt::format("{}{}{}", redraws_ ? "\r" : "", bar_text(progress), redraws_ ? "\x1b[K" : ""));
}

}  // namespace palimpsest::experiments
