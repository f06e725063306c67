#include "engine/backup/backup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/backup/backup_pace.h"
#include "engine/backup/log_copy.h"
#include "engine/backup/page_copy.h"
#include "engine/database.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Until it is whole.
constexpr std::string_view kCopyName = "pages.new";
/// Most that is read while nothing may be written past the log.
constexpr std::uint64_t kPausedBytes = std::uint64_t{32} << 20U;
/// The log's copy is at most so far behind, or this share of the log's bound: of a short log the
/// pin would hold back too much.
constexpr std::uint64_t kLogBehindMax = std::uint64_t{16} << 20U;
constexpr std::uint64_t kLogShare = 16;

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
  void copy_marked_pages();
  void copy_rest();
  void finish();

  void copy(buffer::PageRun run);
  void copy_log();
  [[nodiscard]] std::optional<buffer::PageRun> next_in_use(PageId from, std::uint64_t end) const;
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t pages) const noexcept {
    return pages * source_.file.page_size_bytes();
  }

  const BackupSource& source_;
  io::Device& device_;
  BackupPace pace_;
  BackupReport report_;
  const SteadyClock::time_point begun_ = SteadyClock::now();
  wal::ReplayStart::Pin pin_;
  const std::unique_ptr<buffer::PageFile> file_;
  PageCopy pages_;
  LogCopy log_;
};

// The pin first: no page that is read afterwards is older than where the log begins.
Backup::Backup(const BackupSource& source, io::Device& into, const BackupOptions& options)
    : source_(source),
      device_(into),
      pace_(options),
      pin_(source.log.replay_start()),
      file_(buffer::PageFile::create(into, kCopyName,
                                     {.page_size_bytes = source.file.page_size_bytes(),
                                      .ring_batches = source.file.ring_batches(),
                                      .batch_pages = source.file.batch_pages(),
                                      .uuid = {}})),
      pages_(source.file, source.space, *file_),
      log_(source.store.segments(), pin_, into, file_->header().uuid) {}

BackupReport Backup::run() {
  source_.writer.unlogged_writes().watch();
  PALIMPSEST_SYNC_POINT("engine.backup.begun");
  copy_all_pages();
  PALIMPSEST_SYNC_POINT("engine.backup.pages_copied");
  copy_marked_pages();
  copy_rest();
  finish();
  pace_.tell();
  report_.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begun_);
  return report_;
}

/// The next pages in use, before page `end`.
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

// Pages that the file grows by are new in the log, or written past it.
void Backup::copy_all_pages() {
  const std::uint64_t end = source_.file.page_count();
  pages_.grow_to(end);
  pace_.expect(bytes_of(source_.space.counts().allocated) + source_.log.replay_bytes());
  copy_log();
  PageId from = source_.file.first_page();
  while (const auto run = next_in_use(from, end)) {
    copy(*run);
    report_.page_bytes += bytes_of(run->pages);
    from = PageId{raw(run->first) + run->pages};
  }
}

// Pages that looked damaged are read once more, for they may have been written in between.
void Backup::copy_marked_pages() {
  buffer::UnloggedWrites& written = source_.writer.unlogged_writes();
  for (const PageId page : pages_.take_damaged()) {
    copy({.first = page, .pages = 1});
  }
  while (bytes_of(written.count()) > kPausedBytes) {
    pace_.expect(bytes_of(written.count()));
    PageId from = source_.file.first_page();
    while (const auto run = written.take(from, pages_.run_pages())) {
      copy(*run);
      report_.page_bytes_again += bytes_of(run->pages);
      from = PageId{raw(run->first) + run->pages};
    }
  }
  report_.damaged_pages = pages_.take_damaged().size();
}

// What has been committed so far is in the log's copy: also what was committed asynchronously.
void Backup::copy_rest() {
  buffer::UnloggedWrites& written = source_.writer.unlogged_writes();
  source_.log.wait_durable(source_.clock.now());
  PALIMPSEST_SYNC_POINT("engine.backup.pausing");
  wal::StreamPosition end{};
  std::uint64_t page_count = 0;
  {
    const buffer::UnloggedWrites::Pause pause(written);
    PageId from = source_.file.first_page();
    while (const auto run = written.take(from, pages_.run_pages())) {
      pages_.keep(*run);
      report_.page_bytes_again += bytes_of(run->pages);
      from = PageId{raw(run->first) + run->pages};
    }
    PALIMPSEST_SYNC_POINT("engine.backup.paused");
    // Whatever was read in place had a durable log before it was written; nothing is read any more.
    end = wal::StreamPosition{source_.log.end_position()};
    page_count = source_.file.page_count();
  }
  written.forget();
  PALIMPSEST_SYNC_POINT("engine.backup.resumed");
  report_.log_bytes += log_.copy_up_to(end);  // at once: the pin need not wait for the pages
  pages_.grow_to(page_count);
  pages_.write_kept();
}

// Who opens the directory finds no page file until all is there.
void Backup::finish() {
  file_->become_copy_of(source_.file);
  log_.finish();
  device_.rename(kCopyName, kPageFileName);
  device_.sync_directory();
}

void Backup::copy(buffer::PageRun run) {
  pages_.copy(run);
  pace_.copied(bytes_of(run.pages));
  const std::uint64_t behind = source_.log.end_position() - raw(log_.position());
  if (behind >= std::min(kLogBehindMax, source_.log.capacity_bytes() / kLogShare)) {
    copy_log();
  }
}

/// Now and then, so that the pin holds back little of the log.
void Backup::copy_log() {
  const std::uint64_t copied = log_.copy_up_to(wal::StreamPosition{source_.log.end_position()});
  report_.log_bytes += copied;
  pace_.copied(copied);
}

/// What an interrupted backup has left; the first error tells more than any of these.
void remove_copy(io::Device& device) noexcept {
  try {
    for (const std::string& name : device.list()) {
      device.remove(name);
    }
    device.sync_directory();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): see above
  }
}

}  // namespace

BackupReport back_up(const BackupSource& source, io::Device& into, const BackupOptions& options) {
  const auto alone = into.lock_directory();
  if (const auto files = into.list(); !files.empty()) {
    throw Error(ErrorCode::already_exists,
                fmt::format("{}: a backup is made in an empty directory; there is \"{}\"",
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
