#include "engine/backup/backup_pace.h"

#include <algorithm>
#include <thread>

#include "engine/recovery/progress.h"

namespace palimpsest::engine {
namespace {

/// Short, so that the log is copied, and a backup can be abandoned, while it waits.
constexpr std::chrono::milliseconds kLongestWait{20};
/// At most this much delay is made up for by copying faster.
constexpr std::chrono::milliseconds kArrearsMax{100};

}  // namespace

void BackupPace::copied(std::uint64_t bytes, bool is_limited) {
  progress_.bytes_copied += bytes;
  progress_.bytes_total = std::max(progress_.bytes_total, progress_.bytes_copied);
  if (is_limited && options_.bytes_per_second_max != 0) {
    const std::chrono::duration<double> worth{static_cast<double>(bytes) /
                                              static_cast<double>(options_.bytes_per_second_max)};
    due_ = std::max(due_, SteadyClock::now() - kArrearsMax) +
           std::chrono::duration_cast<SteadyClock::duration>(worth);
  }
  tell_in_time();
}

bool BackupPace::wait_a_little() {
  const auto now = SteadyClock::now();
  if (now >= due_) {
    return false;
  }
  std::this_thread::sleep_for(std::min<SteadyClock::duration>(due_ - now, kLongestWait));
  tell_in_time();
  return true;
}

void BackupPace::finish() {
  progress_.bytes_total = progress_.bytes_copied;
  tell();
}

void BackupPace::tell_in_time() {
  if (SteadyClock::now() - told_ >= kProgressInterval) {
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
