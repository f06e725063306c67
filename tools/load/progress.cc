#include "tools/load/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "tools/load/message.h"

namespace palimpsest::load {
namespace {

using namespace std::chrono_literals;

constexpr double kBytesPerMegabyte = 1e6;
constexpr int kBarWidth = 24;
constexpr std::string_view kEraseLine = "\r\x1B[K";

std::chrono::milliseconds interval_of(ProgressMode mode) {
  switch (mode) {
    case ProgressMode::bar: return 200ms;
    case ProgressMode::json: return 1s;
    case ProgressMode::none:
    case ProgressMode::automatic:
    case ProgressMode::lines: break;
  }
  return 3s;
}

std::string text_of_seconds(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string_view name_of(Phase phase) noexcept {
  switch (phase) {
    case Phase::opening: return "opening";
    case Phase::rows: return "rows";
    case Phase::sorted: return "sorted rows";
    case Phase::commit: return "commit";
    case Phase::undoing: return "undoing";
    case Phase::closing: return "closing";
    case Phase::copying: return "copying";
  }
  return "unknown";
}

Progress::Progress(ProgressMode mode, const Counters& counters) : mode_(mode), counters_(counters) {
  if (mode == ProgressMode::automatic) {
    mode_ = isatty(STDERR_FILENO) == 1 ? ProgressMode::bar : ProgressMode::lines;
  }
  if (mode_ != ProgressMode::none) {
    thread_ = std::thread([this] { run(); });
  }
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    at_end_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (mode_ == ProgressMode::bar) {
    tell(kEraseLine);
  }
  if (mode_ == ProgressMode::json) {
    show();  // the last state, also of a load that was short
  }
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval_of(mode_), [&] { return at_end_; })) {
    show();
  }
}

void Progress::show() {
  const Speed now = speed();
  switch (mode_) {
    case ProgressMode::bar: tell(fmt::format("{}{}", kEraseLine, bar(now))); return;
    case ProgressMode::json: tell(fmt::format("{}\n", json(now))); return;
    case ProgressMode::none:
    case ProgressMode::automatic:
    case ProgressMode::lines: break;
  }
  tell(fmt::format("{}\n", line(now)));
}

Progress::Speed Progress::speed() const {
  const std::chrono::duration<double> elapsed = Clock::now() - begin_;
  const double seconds = std::max(elapsed.count(), 1e-3);
  const auto done = static_cast<double>(counters_.bytes_taken.load());
  const auto total = static_cast<double>(counters_.bytes_total.load());
  Speed speed{.rows_per_second = static_cast<double>(counters_.rows.load()) / seconds,
              .megabytes_per_second = done / seconds / kBytesPerMegabyte};
  if (total > 0) {
    speed.percent = std::min(100 * done / total, 100.0);
    if (done > 0) {
      speed.seconds_left = std::max(total - done, 0.0) * seconds / done;
    }
  }
  return speed;
}

std::string Progress::bar(const Speed& now) const {
  std::string text;
  if (now.percent) {
    const int filled = static_cast<int>(*now.percent * kBarWidth / 100);
    text =
        fmt::format("[{:#<{}}{:<{}}] {:3.0f}%  ", "", filled, "", kBarWidth - filled, *now.percent);
  }
  return text + line(now);
}

std::string Progress::line(const Speed& now) const {
  const Phase phase = counters_.phase;
  std::string text = fmt::format("{}: ", name_of(phase));
  if (phase != Phase::copying) {
    text += fmt::format("{} rows, {:.0f} rows/s, ", counters_.rows.load(), now.rows_per_second);
  }
  text += fmt::format("{:.1f} MB/s", now.megabytes_per_second);
  if (const std::uint64_t faults = counters_.faults.load(); faults != 0) {
    text += fmt::format(", {} errors", faults);
  }
  if (now.percent && mode_ != ProgressMode::bar) {
    text += fmt::format(", {:.0f}%", *now.percent);
  }
  if (now.seconds_left) {
    text += fmt::format(", {} left", text_of_seconds(*now.seconds_left));
  }
  return text;
}

std::string Progress::json(const Speed& now) const {
  const auto number_or_null = [](const std::optional<double>& number) {
    return number ? fmt::format("{:.1f}", *number) : std::string("null");
  };
  return fmt::format(R"({{"phase":"{}","rows":{},"errors":{},"bytes":{},"rows_per_second":{:.1f},)"
                     R"("megabytes_per_second":{:.3f},"percent":{},"seconds_left":{}}})",
                     name_of(counters_.phase.load()), counters_.rows.load(),
                     counters_.faults.load(), counters_.bytes_taken.load(), now.rows_per_second,
                     now.megabytes_per_second, number_or_null(now.percent),
                     number_or_null(now.seconds_left));
}

}  // namespace palimpsest::load
