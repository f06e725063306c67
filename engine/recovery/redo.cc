#include "engine/recovery/redo.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "btree/log/tree_record.h"
#include "buffer/file_limits.h"
#include "engine/recovery/redo_worker.h"
#include "engine/recovery/replay_window.h"
#include "wal/transaction_record.h"

namespace palimpsest::engine {
namespace {

using wal::LoggedRecord;

constexpr std::size_t kWindowBytesMin = std::size_t{64} << 10U;
constexpr std::size_t kWindowBytesMax = std::size_t{4} << 20U;
constexpr std::uint32_t kBodyMask = (std::uint32_t{1} << 31U) - 1;  ///< of ReplayRecord::bytes
constexpr std::uint64_t kNeighbours = 64;                           ///< pages
constexpr Gsn kEveryGsn{~std::uint64_t{0}};

/// The resources of a redo, and how pages are divided among passes and workers.
struct Plan {
  std::uint32_t page_size = 0;
  std::size_t window_bytes = 0;
  std::size_t workers = 1;
  std::size_t frames = 0;  ///< per worker
  std::size_t passes = 1;  ///< over the log

  /// The cell of a page; a cell is the share of one worker in one pass, and pass p has the cells
  /// from p * workers on. Neighbours share a cell. Multiples of the golden ratio's fraction fall
  /// into cells of equal width as evenly as any do (Knuth, vol. 3, section 6.4): cells of
  /// contiguous pages differ by one or two extents.
  [[nodiscard]] std::size_t cell_of(PageId page) const noexcept {
    const std::uint64_t hash = raw(page) / kNeighbours * 0x9E3779B97F4A7C15U;
    return (hash >> 32U) * (passes * workers) >> 32U;
  }
};

/// Reads the log into windows, for the pages of one pass.
class LogFeeder {
 public:
  /// `position`: what all earlier passes have read together.
  LogFeeder(WindowQueue& queue, const Plan& plan, std::size_t pass, std::uint64_t position,
            ProgressMeter& meter)
      : queue_(queue),
        plan_(plan),
        first_cell_(pass * plan.workers),
        read_before_(position),
        meter_(meter),
        held_back_(plan.workers),
        window_(&take_window()) {}

  void read(const wal::LogReader& reader);

 private:
  ReplayWindow& take_window() {
    return queue_.take_free([&] { tell_progress(); });
  }
  void tell_progress() { meter_.at(read_before_ + queue_.replayed()); }
  void add(const LoggedRecord& logged);
  void add_tree(const LoggedRecord& logged, ConstBytes body);
  void begin_batch(const LoggedRecord& logged);
  void let_go(Gsn complete);

  WindowQueue& queue_;
  const Plan& plan_;
  const std::size_t first_cell_;
  const std::uint64_t read_before_;
  ProgressMeter& meter_;
  ReplayWindow held_back_;  ///< while a window is exchanged for the next
  ReplayWindow* window_;
  wal::Incarnation incarnation_{};
  Gsn stated_{};                ///< by the current batch
  Gsn complete_{};              ///< every record up to this has been read
  std::uint64_t position_ = 0;  ///< in the log
};

void LogFeeder::read(const wal::LogReader& reader) {
  std::uint64_t bytes_before = 0;
  for (const wal::StreamPart& part : reader.parts()) {
    reader.visit(part, [&](const LoggedRecord& logged) {
      position_ = bytes_before + raw(logged.chunk) - raw(part.begin);
      if (logged.stated != stated_ || logged.incarnation != incarnation_) {
        begin_batch(logged);
      }
      if (logged.counts) {
        add(logged);
      }
    });
    bytes_before += raw(part.end) - raw(part.begin);
  }
  position_ = bytes_before;
  let_go(kEveryGsn);
}

// The batches before have been read completely. Clocks restart above everything seen, so the
// records of an older incarnation precede all of the next one.
void LogFeeder::begin_batch(const LoggedRecord& logged) {
  complete_ = logged.incarnation == incarnation_ ? stated_ : kEveryGsn;
  if (window_->bytes() >= plan_.window_bytes || complete_ == kEveryGsn) {
    let_go(complete_);
  }
  tell_progress();
  incarnation_ = logged.incarnation;
  stated_ = logged.stated;
}

void LogFeeder::let_go(Gsn complete) {
  if (window_->bytes() == 0) {
    return;
  }
  window_->move_above(complete, held_back_);
  queue_.submit(position_);
  window_ = &take_window();
  held_back_.move_above(Gsn{0}, *window_);
  held_back_.clear();
}

void LogFeeder::add(const LoggedRecord& logged) {
  const auto record = wal::decode(logged.record);
  if (!record) {
    throw Error(ErrorCode::corruption,
                fmt::format("log of slot {}, record at LSN {}: its kind is unknown",
                            raw(logged.slot), raw(logged.lsn)));
  }
  if (record->body_kind == wal::BodyKind::tree) {
    add_tree(logged, record->body);
  }
}

void LogFeeder::add_tree(const LoggedRecord& logged, ConstBytes body) {
  std::optional<std::uint32_t> offset;  // of the body, once a page needs it
  const auto add_page = [&](PageId page, bool formats) {
    const std::size_t worker = plan_.cell_of(page) - first_cell_;  // wraps for earlier passes
    if (worker >= plan_.workers) {
      return;
    }
    if (!offset) {
      offset = window_->add_body(body);
    }
    window_->add_item(worker,
                      {.page = page,
                       .record = {.gsn = logged.record.gsn,
                                  .offset = *offset,
                                  .bytes = static_cast<std::uint32_t>(body.size()) & kBodyMask,
                                  .formats = formats}});
  };
  const auto summary = btree::summarize(body);
  if (summary && summary->only_page != kNoPage) {
    add_page(summary->only_page, summary->formats);
    return;
  }
  btree::TreeRecord tree;
  if (const auto fault = btree::parse_tree_record(body, plan_.page_size, tree)) {
    throw Error(ErrorCode::corruption,
                fmt::format("log of slot {}, record at LSN {} with GSN {}: {}", raw(logged.slot),
                            raw(logged.lsn), raw(logged.record.gsn), *fault));
  }
  btree::visit_pages(tree, [&](PageId page, btree::PageEffect effect) {
    if (btree::is_redone(effect)) {
      add_page(page, effect != btree::PageEffect::change);
    }
  });
}

/// The threads that apply what the feeder reads. The destructor waits for them.
class Workers {
 public:
  Workers(WindowQueue& queue, std::vector<std::unique_ptr<RedoWorker>>& workers) : queue_(queue) {
    try {
      for (std::size_t number = 0; number < workers.size(); ++number) {
        threads_.push_back(start_thread(
            "that replays the log",
            [&queue, number, worker = workers[number].get()] { run(queue, number, *worker); }));
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

 private:
  void stop() noexcept {
    queue_.close();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }
  static void run(WindowQueue& queue, std::size_t number, RedoWorker& worker) noexcept {
    try {
      while (const ReplayWindow* window = queue.next(number)) {
        worker.replay(*window, window->items(number));
        queue.done(number);
      }
      if (!queue.failed()) {
        worker.write_pages();
      }
      queue.finished();
    } catch (...) {
      queue.fail(std::current_exception());
    }
  }

  WindowQueue& queue_;
  std::vector<std::thread> threads_;
};

/// Makes the file as long as it was according to the log. Throws corruption if that exceeds any
/// file.
void grow(buffer::PageFile& file, std::uint64_t page_count_min) {
  if (page_count_min > buffer::kFileBytesMax / file.page_size_bytes()) {
    throw Error(ErrorCode::corruption,
                fmt::format("the log says that page {} is in use, which no page file has",
                            page_count_min - 1));
  }
  if (file.page_count() < page_count_min) {
    file.grow(page_count_min);
  }
}

Plan plan_of(const RedoOptions& options, const RecoveryAnalysis& analysis,
             std::uint32_t page_size) {
  check(options.workers > 0 && options.passes_max > 0, "redo has a worker, and a pass");
  Plan plan{.page_size = page_size};
  plan.window_bytes = std::clamp(options.memory_bytes / 16, kWindowBytesMin, kWindowBytesMax);
  // The items of a window take about as much memory as its bodies; so does grouping them by page,
  // for one window at a time.
  const std::size_t windows_bytes = (2 * WindowQueue::kWindows + 1) * plan.window_bytes;
  const std::size_t frames = options.memory_bytes <= windows_bytes
                                 ? 0
                                 : (options.memory_bytes - windows_bytes) / page_size;
  const std::size_t frames_min = std::max(options.worker_pages_min, ReplayPages::kFramesMin);
  plan.workers = std::clamp(frames / frames_min, std::size_t{1}, options.workers);
  plan.frames = std::max(frames / plan.workers, ReplayPages::kFramesMin);
  // Reserve, as cells differ in pages: by an extent or two, or by chance.
  const std::size_t spared = std::clamp<std::size_t>(kNeighbours, plan.frames / 8, plan.frames / 2);
  const std::size_t pages_of_pass = plan.workers * (plan.frames - spared);
  const std::size_t passes = (analysis.pages_changed + pages_of_pass - 1) / pages_of_pass;
  plan.passes = passes <= options.passes_max ? std::max<std::size_t>(passes, 1) : 1;
  return plan;
}

/// Redoes the pages of one pass, and writes them.
class Pass {
 public:
  Pass(const Plan& plan, std::size_t number, const RecoveryAnalysis& analysis,
       buffer::PageFile& file, buffer::PageWriter& writer, LostPages* lost)
      : plan_(plan), number_(number), queue_(plan.workers) {
    for (std::size_t worker = 0; worker < plan.workers; ++worker) {
      workers_.push_back(std::make_unique<RedoWorker>(analysis, file, writer, plan.frames, lost));
    }
  }

  void run(const wal::LogReader& reader, ProgressMeter& meter);
  void add_to(RedoStatistics& total) const noexcept;

 private:
  const Plan& plan_;
  const std::size_t number_;
  std::vector<std::unique_ptr<RedoWorker>> workers_;
  WindowQueue queue_;
};

void Pass::run(const wal::LogReader& reader, ProgressMeter& meter) {
  const std::uint64_t position = number_ * reader.end().bytes;
  const Workers threads(queue_, workers_);
  try {
    LogFeeder(queue_, plan_, number_, position, meter).read(reader);
    queue_.close();
    queue_.wait_finished([&] { meter.at(position + queue_.replayed()); });
  } catch (...) {
    queue_.fail(std::current_exception());
    throw;
  }
}

void Pass::add_to(RedoStatistics& total) const noexcept {
  for (const auto& worker : workers_) {
    const RedoStatistics part = worker->statistics();
    total.changes += part.changes;
    total.changes_applied += part.changes_applied;
    total.pages_read += part.pages_read;
    total.pages_written += part.pages_written;
  }
}

}  // namespace

RedoStatistics redo(const wal::LogReader& reader, const RecoveryAnalysis& analysis,
                    buffer::PageFile& file, buffer::PageWriter& writer,
                    const RedoOptions& options) {
  grow(file, analysis.page_count_min);
  const Plan plan = plan_of(options, analysis, file.page_size_bytes());
  ProgressMeter meter(options.progress, RecoveryPhase::redo, plan.passes * reader.end().bytes);
  RedoStatistics total{.log_bytes = reader.end().bytes, .passes = plan.passes};
  for (std::size_t number = 0; number < plan.passes; ++number) {
    Pass pass(plan, number, analysis, file, writer, options.lost);
    pass.run(reader, meter);
    pass.add_to(total);
  }
  // Even if nothing was written: the pages read may have been written by a redo that was killed.
  writer.harden();
  meter.finish();
  return total;
}

}  // namespace palimpsest::engine
