// Checkpoints: advances the start of replay, so that the log can be reused and recovery stays
// short.
//
// A cycle does the following:
// - takes a position in the log's stream, the cycle's *mark*;
// - begins an age of the pool's pages (buffer/page_age.h);
// - collects the pages that have been dirty since before an earlier mark's age, the cycle's
//   *reach*;
// - writes these pages a slice at a time, in step with the growth of the log;
// - writes the space map, and hardens everything.
// Now everything that the records before that earlier mark say is on disk. Replay may start there,
// unless a transaction that has not ended, or pending frees, have records before it. Then it starts
// at an older mark: that of an earlier cycle, or one of those that the log has set since, one per
// segment.
//
// Why not write all that is dirty at the cycle's own mark: a page that changes all the time would
// be written in each cycle; so it is written once in as many cycles as lie between reach and mark
// (decision 025). So that such pages do not become old all at once, each page is also written in
// one cycle of that many, old or not. When the log runs out of space, and in run(), everything is
// written, so that replay may start at the cycle's own mark; a running cycle with another reach is
// abandoned.
//
// Invariants:
// (1) A record before a mark was appended, and its pages marked dirty, before the mark was taken,
//     and so before the mark's age began. So it is on a page that has been dirty since before that
//     age, which a cycle with this reach writes (BufferPool::unwritten_frames), or on one that was
//     written since. Of the space map, all that has changed is written, whatever the reach.
// (2) A mark's `newest` is no smaller than the GSN of any record before it, so a transaction with
//     all its changes above `newest` has no record before the mark. A transaction that
//     Transactions::oldest() does not see yet begins to write afterwards, and appends behind every
//     mark taken by then. What lies before a mark lies before later ones: no mark has a larger
//     `newest` than a later one.
// (3) Replay's start moves only when the ends of all transactions that were found ended are
//     durable: otherwise a crash would make losers of them, with their records gone.
// (4) Records are not sorted in the stream: one before a mark may have a larger GSN than one behind
//     it, though both were appended before the mark was complete. So all records up to `newest` are
//     published, and in pages and space map, before the mark's age begins, and so before a cycle
//     decides which pages to write. And recovery ignores records up to the `newest` of its mark,
//     wherever they are: it must not replay on a page what precedes a record before the mark that
//     freed the page.
//
// Pace: with a bound of R bytes to be replayed, a cycle begins every R/8 bytes of log, a *stride*;
// it reaches back to the oldest mark less than six strides back, and ends when the log has grown by
// another stride. So before the next cycle ends, replay starts less than eight strides back; if a
// cycle is late, further back by its delay, which the next one makes up for. A full log makes the
// cycle write without pause. Transactions with records half the log back are cancelled. So is the
// oldest one, if it has been there for a whole cycle that has not helped the threads waiting for
// space: log space reserved by transactions counts as well.
// Latching: one mutex over the cycle, held across I/O; taken before any other latch. No page latch.
// Thread-safety: all functions, from any thread.
// Failure: run() throws io_error, no_space, failed. The background keeps such an error for
// last_error(), reports it, and tries again: pages stay dirty, and replay starts where it did. The
// log is made to fail if the page file has failed, or if checkpoints fail repeatedly while a thread
// waits for log space: so no thread waits for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log_sink.h"
#include "base/worker_slots.h"
#include "buffer/buffer_pool.h"
#include "txn/transactions.h"
#include "wal/log.h"

namespace palimpsest::engine {

struct CheckpointerOptions {
  /// Bound on the log that recovery replays, as long as the disk keeps up.
  std::uint64_t replay_bytes_max = 0;
  /// If false, the owner calls run() or step().
  bool background = true;
  LogSink log{};  ///< hears of checkpoints that are late or fail
};

struct CheckpointStatistics {
  std::uint64_t cycles = 0;
  std::uint64_t pages = 0;      ///< written by cycles
  std::uint64_t cancelled = 0;  ///< transactions asked to end because they pin the log
};

class Checkpointer {
 public:
  /// All references outlive this. Starts a thread if the options say so.
  Checkpointer(wal::Log& log, Clock& clock, WorkerSlots& slots, buffer::BufferPool& pool,
               txn::Transactions& transactions, const CheckpointerOptions& options);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Runs a whole cycle that begins after the call, without pause.
  void run();
  /// Does what is due now, at most one slice; returns whether anything was. For use without a
  /// background thread.
  bool step();
  /// Writes everything and moves replay's start behind it, durably, so that nothing has to be
  /// replayed. No transaction is active, and none begins.
  void run_clean();

  /// Ends the background thread. Called before run_clean().
  void stop() noexcept;

  /// The log runs out of space. Does not block.
  void log_is_filling() noexcept;

  [[nodiscard]] CheckpointStatistics statistics() const noexcept;
  /// Why the last attempt in the background failed; empty if it did not.
  [[nodiscard]] std::string last_error() const;

 private:
  /// A page with a record before the mark has been dirty since before the age, or was written
  /// since.
  struct Mark {
    wal::LogMark log;
    buffer::PageAge age;
  };

  // cycle_mutex_ is held:
  void require_working();
  void begin_cycle(bool writes_all);
  void lower_marks() noexcept;
  [[nodiscard]] buffer::PageAge age_in_reach() const noexcept;
  void write_slice(std::size_t pages);
  void finish_cycle();
  bool move_start();
  void cancel_old();
  void cancel_oldest();
  [[nodiscard]] std::size_t pages_due() const noexcept;
  [[nodiscard]] std::uint64_t stride_bytes() const noexcept;
  [[nodiscard]] bool cycle_is_due() const noexcept;
  [[nodiscard]] std::uint64_t grown_since(const wal::LogMark& mark) const noexcept;
  [[nodiscard]] Gsn newest_gsn() noexcept;
  void report_lag() noexcept;

  void work();
  bool try_step() noexcept;

  wal::Log& log_;
  Clock& clock_;
  WorkerSlots& slots_;
  buffer::BufferPool& pool_;
  txn::Transactions& transactions_;
  const CheckpointerOptions options_;

  std::mutex cycle_mutex_;
  // Protected by cycle_mutex_:
  bool in_cycle_ = false;
  std::deque<Mark> marks_;          ///< by position; in a cycle, the last one is its own
  std::size_t reached_ = 0;         ///< for this many first marks, all before them is on disk
  buffer::PageAge reach_;           ///< of the cycle; if the age of its own mark: all is written
  std::vector<FrameIndex> frames_;  ///< to be written by the cycle
  std::size_t next_frame_ = 0;
  /// The oldest transaction when the cycle began, if a thread waited for log space then.
  Gsn in_the_way_ = txn::DeferredFrees::kNone;
  bool is_late_ = false;  ///< as last reported

  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> pages_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  mutable std::mutex error_mutex_;
  std::string last_error_;  ///< protected by error_mutex_

  unsigned failures_ = 0;                ///< in a row; used by the thread
  std::atomic<bool> is_failing_{false};  ///< as last reported
  std::atomic<bool> filling_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> signal_{0};  ///< the thread sleeps on it
  std::thread thread_;                    // last: starts when everything else exists
};

}  // namespace palimpsest::engine
