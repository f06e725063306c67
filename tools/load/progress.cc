#include "tools/load/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

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

Reached Counters::reached() const {
  return {.bytes_taken = bytes_taken,
          .bytes_total = bytes_total,
          .rows = rows,
          .rows_put = rows_put,
          .rows_sorted = rows_sorted,
          .faults = faults,
          .phase = phase,
          .stages = stages.times()};
}

Progress::Progress(ProgressMode mode, const Counters& counters)
    : Progress(mode, [&counters] { return counters.reached(); }) {}

Progress::Progress(ProgressMode mode, std::function<Reached()> reached)
    : mode_(mode), reached_(std::move(reached)) {
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
  const Reached now = reached_();
  if (now.phase != phase_) {
    phase_ = now.phase;
    phase_begin_ = now.phase == Phase::rows ? begin_ : Clock::now();
  }
  const Speed at = speed(now);
  switch (mode_) {
    case ProgressMode::bar: tell(fmt::format("{}{}", kEraseLine, bar(now, at))); break;
    case ProgressMode::json: tell(fmt::format("{}\n", json(now, at))); break;
    case ProgressMode::none:
    case ProgressMode::automatic:
    case ProgressMode::lines: tell(fmt::format("{}\n", line(now, at))); break;
  }
  shown_ = now.stages;
}

Progress::Speed Progress::speed(const Reached& now) const {
  const auto seconds_since = [](Clock::time_point begin) {
    return std::max(std::chrono::duration<double>(Clock::now() - begin).count(), 1e-3);
  };
  const double seconds = seconds_since(begin_);
  Speed speed{
      .rows_per_second = static_cast<double>(now.rows) / seconds,
      .megabytes_per_second = static_cast<double>(now.bytes_taken) / seconds / kBytesPerMegabyte};
  const bool is_sorted = now.phase == Phase::sorted && now.rows_sorted != 0;
  const auto done = static_cast<double>(is_sorted ? now.rows_put : now.bytes_taken);
  const auto total = static_cast<double>(is_sorted ? now.rows_sorted : now.bytes_total);
  if (total > 0) {
    speed.percent = std::min(100 * done / total, 100.0);
    if (done > 0) {
      speed.seconds_left = std::max(total - done, 0.0) * seconds_since(phase_begin_) / done;
    }
  }
  return speed;
}

std::string Progress::bar(const Reached& now, const Speed& speed) const {
  std::string text;
  if (speed.percent) {
    const int filled = static_cast<int>(*speed.percent * kBarWidth / 100);
    text = fmt::format("[{:#<{}}{:<{}}] {:3.0f}%  ", "", filled, "", kBarWidth - filled,
                       *speed.percent);
  }
  return text + line(now, speed);
}

std::string Progress::line(const Reached& now, const Speed& speed) const {
  std::string text = fmt::format("{}: ", name_of(now.phase));
  if (now.phase != Phase::copying) {
    text += fmt::format("{} rows, {:.0f} rows/s, ", now.rows, speed.rows_per_second);
  }
  text += fmt::format("{:.1f} MB/s", speed.megabytes_per_second);
  if (now.faults != 0) {
    text += fmt::format(", {} rejected", now.faults);
  }
  if (speed.percent && mode_ != ProgressMode::bar) {
    text += fmt::format(", {:.0f}%", *speed.percent);
  }
  if (speed.seconds_left) {
    text += fmt::format(", {} left", text_of_seconds(*speed.seconds_left));
  }
  if (const Stage waits = stage(now); now.phase != Phase::copying && waits != Stage::other) {
    text += fmt::format(", waits for {}", name_of(waits));
  }
  return text;
}

std::string Progress::json(const Reached& now, const Speed& speed) const {
  const auto number_or_null = [](const std::optional<double>& number) {
    return number ? fmt::format("{:.1f}", *number) : std::string("null");
  };
  return fmt::format(R"({{"phase":"{}","stage":"{}","rows":{},"errors":{},"bytes":{},)"
                     R"("rows_per_second":{:.1f},"megabytes_per_second":{:.3f},"percent":{},)"
                     R"("seconds_left":{}}})",
                     name_of(now.phase), name_of(stage(now)), now.rows, now.faults, now.bytes_taken,
                     speed.rows_per_second, speed.megabytes_per_second,
                     number_or_null(speed.percent), number_or_null(speed.seconds_left));
}

}  // namespace palimpsest::load
