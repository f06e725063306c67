// Checkpoints: lets replay start later and later, so that the log can be reused and recovery stays
// short.
//
// A cycle takes a place in the log's stream (its *mark*), begins an age of the pool's pages
// (buffer/page_age.h), notes which pages have been dirty since before an earlier mark's age (the
// cycle's *reach*), writes them a slice at a time in step with the growth of the log, writes the
// space map and hardens it all. Then everything that the records before that earlier mark say is on
// disk. Replay may start there unless a transaction that has not ended, or pages that are pending
// to be freed, have records before it; then it starts at an older mark: that of a cycle before, or
// one of those that the log has set since, one a segment.
//
// Why not all that is dirty at the cycle's own mark: a page that is always changed would be written
// in each cycle, and is once in as many as lie between reach and mark (decision 025). So that such
// pages are not old all at once, each page has its turn in one cycle of so many, old or not. When
// the log runs out of space, and in run(), everything is written, so that replay may start at the
// cycle's own mark; a cycle with another reach that is under way then is given up.
//
// Invariants: (1) a record before a mark was appended, and its pages marked dirty, before the mark
//                 was taken, and so before the mark's age began: it is on a page that has been
//                 dirty since before that age, which a cycle with this reach writes
//                 (BufferPool::unwritten_frames), or on one that was written since. Of the space
//                 map all is written that has changed, whatever the reach;
//             (2) a mark's `newest` is no smaller than the GSN of any record before it, so a
//                 transaction whose changes are all above it has no record before it. One that is
//                 not seen yet when Transactions::oldest() looks begins to write afterwards, and
//                 what it appends lies behind every mark taken by then. What lies before a mark
//                 lies before later ones: none has a larger `newest` than one behind it;
//             (3) replay's start moves only when the ends of all transactions that were found ended
//                 are durable: otherwise a crash would make losers of them whose records are gone;
//             (4) records are not sorted in the stream: one before a mark may have a larger GSN
//                 than one behind it, though both were appended before the mark was complete. So
//                 all records up to `newest` are published, and in pages and space map, before the
//                 mark's age begins, and so before a cycle looks which of these it has to write;
//                 and recovery leaves records up to the `newest` of its mark alone, wherever they
//                 lie: it must not replay on a page what comes before a record that freed it and
//                 lies before the mark.
// Pace: with a bound of R bytes to be replayed, a cycle begins every R/8 bytes of log, a *stride*,
//       reaches back to the oldest mark that lies less than six strides back, and is over when the
//       log has grown by another stride. Before the next one is over replay starts less than eight
//       strides back, and if a cycle is late, further by what it is late; the next one makes up for
//       that. A full log makes it write without pause.
//       Transactions whose records lie half the log back are cancelled, and the oldest one if it
//       has been there for a whole cycle that has not helped who waits for space: what transactions
//       may still have to append counts as well.
// Latching: one mutex over the cycle, held across I/O; taken before all others. No page latch.
// Thread-safety: all functions, from any thread.
// Failure: io_error, no_space, failed from run(); in the background they are kept for last_error()
//          and it tries again: pages stay dirty, and replay starts where it did. A failed page file
//          makes the log fail, too, and so does a checkpoint that fails again and again while
//          somebody waits for the log's space: nobody waits for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/worker_slots.h"
#include "buffer/buffer_pool.h"
#include "txn/transactions.h"
#include "wal/log.h"

namespace palimpsest::engine {

struct CheckpointerOptions {
  /// Bound of what recovery replays, as long as the disk keeps up.
  std::uint64_t replay_bytes_max = 0;
  /// Without, somebody calls run() or step().
  bool background = true;
};

struct CheckpointStatistics {
  std::uint64_t cycles = 0;
  std::uint64_t pages = 0;      ///< written by cycles
  std::uint64_t cancelled = 0;  ///< transactions asked to end for the log's sake
};

class Checkpointer {
 public:
  /// All references outlive it. Starts a thread if the options say so.
  Checkpointer(wal::Log& log, Clock& clock, WorkerSlots& slots, buffer::BufferPool& pool,
               txn::Transactions& transactions, const CheckpointerOptions& options);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// A whole cycle that begins after the call, without pause.
  void run();
  /// What is due now, at most one slice; whether anything was. For whoever has no background.
  bool step();
  /// Everything is written and replay starts behind it, durably, and nothing has to be replayed.
  /// No transaction is active, and none begins.
  void run_clean();

  /// Ends the background. Before run_clean().
  void stop() noexcept;

  /// The log runs out of space. Does not block.
  void log_is_filling() noexcept;

  [[nodiscard]] CheckpointStatistics statistics() const noexcept;
  /// Why the last attempt in the background failed; empty if it did not.
  [[nodiscard]] std::string last_error() const;

 private:
  /// A page with a record before the mark has been dirty since before the age, or is written.
  struct Mark {
    wal::LogMark log;
    buffer::PageAge age;
  };

  // cycle_mutex_ held:
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
  std::deque<Mark> marks_;   ///< by position; in a cycle, the last one is its own
  std::size_t reached_ = 0;  ///< of the marks, so many first ones have all before them on disk
  buffer::PageAge reach_;    ///< of the cycle; that of its own mark: all is written
  std::vector<FrameIndex> frames_;  ///< of the cycle
  std::size_t next_frame_ = 0;
  /// The oldest transaction when the cycle began, if somebody waited for log space then.
  Gsn in_the_way_ = txn::DeferredFrees::kNone;

  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> pages_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  mutable std::mutex error_mutex_;
  std::string last_error_;  ///< protected by error_mutex_

  unsigned failures_ = 0;  ///< in a row; of the thread
  std::atomic<bool> filling_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> signal_{0};  ///< the thread sleeps on it
  std::thread thread_;                    // last: starts when everything else is there
};

}  // namespace palimpsest::engine
