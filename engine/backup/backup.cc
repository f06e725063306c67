#include "engine/backup/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/backup/backup_pace.h"
#include "engine/backup/log_copy.h"
#include "engine/backup/page_copy.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Most bytes that are read while writes past the log are paused.
constexpr std::uint64_t kPausedBytes = std::uint64_t{8} << 20U;
/// The copy of the log lags behind by at most kLogBehindMax, or this share of the log's bound: of a
/// short log, the pin would hold too much.
constexpr std::uint64_t kLogBehindMax = std::uint64_t{16} << 20U;
constexpr std::uint64_t kLogShare = 16;
/// Attempts at the end, while pages look damaged that may only be under a write.
constexpr int kEndsMax = 3;

/// One backup, from its beginning to its end.
class Backup {
 public:
  Backup(const BackupSource& source, io::Device& into, const BackupOptions& options);
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;
  ~Backup() { source_.writer.unlogged_writes().forget(); }

  BackupReport run();

 private:
  void copy_all_pages();
  void copy_damaged_pages();
  void copy_marked_pages();
  void end_copy();
  [[nodiscard]] bool try_to_end();
  void finish();

  void copy_again(buffer::PageRun run);
  void copy_log();
  void keep_up();
  [[nodiscard]] std::optional<buffer::PageRun> next_in_use(PageId from, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t pages) const noexcept {
    return pages * source_.file.page_size_bytes();
  }

  const BackupSource& source_;
  io::Device& device_;
  BackupPace pace_;
  BackupReport report_;
  const SteadyClock::time_point begun_ = SteadyClock::now();
  std::optional<wal::ReplayStart::Pin> pin_;
  const std::unique_ptr<buffer::PageFile> file_;
  PageCopy pages_;
  LogCopy log_;
};

// The pin is taken first: no page that is read afterwards is older than where the copied log
// begins.
Backup::Backup(const BackupSource& source, io::Device& into, const BackupOptions& options)
    : source_(source),
      device_(into),
      pace_(options),
      pin_(std::in_place, source.log.replay_start()),
      file_(buffer::PageFile::create(into, kCopyName,
                                     {.page_size_bytes = source.file.page_size_bytes(),
                                      .ring_batches = source.file.ring_batches(),
                                      .batch_pages = source.file.batch_pages(),
                                      .uuid = {}})),
      pages_(source.file, source.space, *file_),
      log_(source.store.segments(), *pin_, into, file_->header().uuid) {}

// Everything committed so far will be in the copied log, including asynchronous commits.
BackupReport Backup::run() {
  source_.writer.require_working();
  source_.writer.unlogged_writes().watch();
  source_.log.wait_durable(source_.clock.now());
  PALIMPSEST_SYNC_POINT("engine.backup.begun");
  copy_all_pages();
  PALIMPSEST_SYNC_POINT("engine.backup.pages_copied");
  end_copy();
  pace_.finish();
  finish();
  report_.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun_);
  return report_;
}

/// The next run of pages in use, before page `end`.
std::optional<buffer::PageRun> Backup::next_in_use(PageId from, std::uint64_t end) const {
  std::uint64_t first = raw(from);
  while (first < end && !source_.space.is_allocated(PageId{first})) {
    ++first;
  }
  if (first >= end) {
    return std::nullopt;
  }
  buffer::PageRun run{.first = PageId{first}, .pages = 1};
  while (run.pages < pages_.run_pages() && first + run.pages < end &&
         source_.space.is_allocated(PageId{first + run.pages})) {
    ++run.pages;
  }
  return run;
}

// Pages that the file grows by meanwhile are new in the log, or written past it.
void Backup::copy_all_pages() {
  const std::uint64_t end = source_.file.page_count();
  pages_.grow_to(end);
  pace_.expect(bytes_of(source_.space.counts().allocated) + source_.log.replay_bytes());
  copy_log();
  PageId from = source_.file.first_page();
  while (const auto run = next_in_use(from, end)) {
    pages_.copy(*run);
    report_.page_bytes += bytes_of(run->pages);
    pace_.copied(bytes_of(run->pages), true);
    do {
      keep_up();
    } while (pace_.wait_a_little());
    from = PageId{raw(run->first) + run->pages};
  }
}

void Backup::copy_again(buffer::PageRun run) {
  pages_.copy(run);
  report_.page_bytes_again += bytes_of(run.pages);
  pace_.copied(bytes_of(run.pages), false);
  keep_up();
}

/// Copies damaged pages once more, neighbours together: they may only have been under a write.
void Backup::copy_damaged_pages() {
  std::vector<buffer::PageRun> runs;
  for (const PageId page : pages_.damaged()) {
    const bool follows = !runs.empty() && runs.back().pages < pages_.run_pages() &&
                         raw(page) == raw(runs.back().first) + runs.back().pages;
    if (follows) {
      ++runs.back().pages;
    } else {
      runs.push_back({.first = page, .pages = 1});
    }
  }
  for (const buffer::PageRun& run : runs) {
    copy_again(run);
  }
}

/// Repeats until little is left.
void Backup::copy_marked_pages() {
  buffer::UnloggedWrites& written = source_.writer.unlogged_writes();
  while (bytes_of(written.count()) > kPausedBytes) {
    pace_.expect(bytes_of(written.count()));
    PageId from = source_.file.first_page();
    while (const auto run = written.take(from, pages_.run_pages())) {
      copy_again(*run);
      from = PageId{raw(run->first) + run->pages};
    }
  }
}

void Backup::end_copy() {
  int ends = 0;
  do {
    copy_damaged_pages();
    copy_marked_pages();  // last: the other copies may take long
    PALIMPSEST_SYNC_POINT("engine.backup.pausing");
  } while (!try_to_end() || (!pages_.damaged().empty() && ++ends < kEndsMax));
  source_.writer.unlogged_writes().forget();
  source_.writer.require_working();  // if it has failed, pages may be torn in place
  report_.damaged_pages = pages_.damaged().size();
}

/// Copies what is left, and the log up to a moment when nothing was. False if so much is left that
/// writers would have to wait too long.
bool Backup::try_to_end() {
  buffer::UnloggedWrites& written = source_.writer.unlogged_writes();
  std::vector<buffer::PageRun> runs;
  wal::StreamPosition end{};
  std::uint64_t page_count = 0;
  {
    const buffer::UnloggedWrites::Pause pause(written);
    if (bytes_of(written.count()) > kPausedBytes) {
      return false;
    }
    PageId from = source_.file.first_page();
    while (const auto run = written.take(from, pages_.run_pages())) {
      runs.push_back(*run);
      report_.page_bytes_again += bytes_of(run->pages);
      from = PageId{raw(run->first) + run->pages};
    }
    pages_.keep(runs);
    PALIMPSEST_SYNC_POINT("engine.backup.paused");
    // What was read in place had a durable log before it was written; nothing is read after this.
    end = wal::StreamPosition{source_.log.end_position()};
    page_count = source_.file.page_count();
  }
  PALIMPSEST_SYNC_POINT("engine.backup.resumed");
  report_.log_bytes += log_.copy_up_to(end);
  pages_.grow_to(page_count);
  pages_.write_kept();
  return true;
}

// The directory contains no page file until everything else is in place.
void Backup::finish() {
  const wal::ControlState state = pin_->state();
  pin_.reset();
  file_->become_copy_of(source_.file);
  log_.finish(state);
  device_.rename(kCopyName, buffer::kPageFileName);
  device_.sync_directory();
}

void Backup::copy_log() {
  const std::uint64_t copied = log_.copy_up_to(wal::StreamPosition{source_.log.end_position()});
  report_.log_bytes += copied;
  pace_.copied(copied, false);
}

/// Copies the log now and then, so that the pin holds little of it.
void Backup::keep_up() {
  const std::uint64_t behind = source_.log.end_position() - raw(log_.position());
  if (behind >= std::min(kLogBehindMax, source_.log.capacity_bytes() / kLogShare)) {
    copy_log();
  }
}

bool is_of_copy(std::string_view name) noexcept {
  return name == kCopyName || name == buffer::kPageFileName ||
         name.starts_with(wal::kControlFileName) || wal::Segments::is_name(name);
}

/// Removes what a failed backup has made; ignores errors, as the first error tells more.
void remove_copy(io::Device& device) noexcept {
  const auto attempt = [](const auto& call) {
    try {
      call();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): see above
    }
  };
  attempt([&] {
    for (const std::string& name : device.list()) {
      if (is_of_copy(name)) {
        attempt([&] { device.remove(name); });
      }
    }
    device.sync_directory();
  });
}

}  // namespace

BackupReport back_up(const BackupSource& source, io::Device& into, const BackupOptions& options) {
  const auto alone = into.lock_directory();
  if (const auto files = into.list(); !files.empty()) {
    throw Error(ErrorCode::already_exists,
                fmt::format("{}: a backup needs an empty directory, but this one has \"{}\"",
                            into.path(), files.front()));
  }
  try {
    return Backup(source, into, options).run();
  } catch (...) {
    remove_copy(into);
    throw;
  }
}

}  // namespace palimpsest::engine
