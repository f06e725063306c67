#include "engine/backup/backup_pace.h"

#include <algorithm>
#include <thread>

namespace palimpsest::engine {
namespace {

constexpr std::chrono::milliseconds kTellInterval{50};
/// So that the log is copied, and a backup given up, while it waits.
constexpr std::chrono::milliseconds kLongestWait{20};

}  // namespace

void BackupPace::copied(std::uint64_t bytes, bool is_limited) {
  progress_.bytes_copied += bytes;
  progress_.bytes_total = std::max(progress_.bytes_total, progress_.bytes_copied);
  limited_bytes_ += is_limited ? bytes : 0;
  tell_in_time();
}

bool BackupPace::wait_a_little() {
  if (options_.bytes_per_second_max == 0) {
    return false;
  }
  const std::chrono::duration<double> taken = SteadyClock::now() - begun_;
  const std::chrono::duration<double> due{static_cast<double>(limited_bytes_) /
                                          static_cast<double>(options_.bytes_per_second_max)};
  if (taken >= due) {
    return false;
  }
  std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(due - taken, kLongestWait));
  tell_in_time();
  return true;
}

void BackupPace::finish() {
  progress_.bytes_total = progress_.bytes_copied;
  tell();
}

void BackupPace::tell_in_time() {
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
