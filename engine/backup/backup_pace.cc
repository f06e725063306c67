#include "engine/backup/backup_pace.h"

#include <algorithm>
#include <thread>

namespace palimpsest::engine {
namespace {

constexpr std::chrono::milliseconds kTellInterval{50};

}  // namespace

void BackupPace::copied(std::uint64_t bytes) {
  progress_.bytes_copied += bytes;
  progress_.bytes_total = std::max(progress_.bytes_total, progress_.bytes_copied);
  if (options_.bytes_per_second_max != 0) {
    const double seconds = static_cast<double>(progress_.bytes_copied) /
                           static_cast<double>(options_.bytes_per_second_max);
    const auto due = begun_ + std::chrono::duration_cast<SteadyClock::duration>(
                                  std::chrono::duration<double>(seconds));
    while (SteadyClock::now() < due) {  // a piece at a time, so that it can be given up
      std::this_thread::sleep_until(std::min(due, SteadyClock::now() + kTellInterval));
      tell();
    }
  }
  if (SteadyClock::now() - told_ >= kTellInterval) {
    tell();
  }
}

void BackupPace::tell() {
  told_ = SteadyClock::now();
  if (options_.progress) {
    options_.progress(progress_);
  }
}

}  // namespace palimpsest::engine
