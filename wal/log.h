// The log while it is written: appending, group commit, durable GSN, and bounds.
//
// Every slot appends to a log of its own and takes no shared lock to do so (decentralised logging:
// Haubenschild et al., SIGMOD 2020). One *round* packs what all slots have appended into batches of
// one stream, writes and syncs them, and then states a durable GSN g: every record of every log
// with GSN <= g is durable. A thread that needs durability runs the round itself if no round is
// under way (leader), or else sleeps until that one has ended (follower): a lone committer pays no
// hand-over, and many committers share a sync. A background thread runs rounds for asynchronous
// commits, and when a slot's log is half full, so that its owner need not run one for lack of room
// (decision 035).
// Invariants: (1) rounds run one at a time, under the round mutex turn_;
//             (2) a batch states a GSN only if everything captured in its round, and all batches
//                 before it, lie in the stream up to its end; g never falls;
//             (3) g is published after the sync of the batch that states it. Batches of one round
//                 are synced together, an earlier segment before a later one is written;
//             (4) a record that needs pages (need_pages()) lies in the stream only when they are
//                 durable: a round checks the flag after it has captured and before it writes;
//             (5) after a failed write or sync nothing is written any more: the log has failed
//                 until it is reopened. No batch follows one that may be half on disk.
// How g is computed and why it holds: base/worker_slots.h.
//
// Latching: the round mutex is held across I/O and taken with no page latch held. reserve() and
//           wait_durable() may wait; append() and append_commit() never do.
// Thread-safety: reserve, append, append_commit, release_credit and slot_log of a slot by its
//                owner; the rest from any thread.
// Failure: Error failed with the first reason, from an I/O error on. The thread that met the error
//          gets no other code, so that io_error from a commit never means that it may have
//          happened. Only reserve() throws no_space, and io_error for a segment that could not be
//          made; nothing has changed then, and it may be called again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/function_ref.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/sync_point.h"
#include "base/worker_slots.h"
#include "wal/log_budget.h"
#include "wal/log_options.h"
#include "wal/log_reader.h"
#include "wal/log_space.h"
#include "wal/log_store.h"
#include "wal/replay_start.h"
#include "wal/slot_log.h"
#include "wal/stream_writer.h"

namespace palimpsest::wal {

class BackgroundCommitter;
class Log {
 public:
  /// Continues behind `end`, as a new incarnation, which is durable on return. The caller has
  /// replayed the log, and has raised `clock` above everything seen. All references outlive the
  /// log.
  static std::unique_ptr<Log> begin(LogStore& store, const LogEnd& end, Clock& clock,
                                    WorkerSlots& slots, LogOptions options);
  /// Discards records that are not durable.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  [[nodiscard]] Incarnation incarnation() const noexcept { return incarnation_; }

  // Appending

  /// Reserves `need`. Waits for rounds and for space, with no latch held. While it waits for space
  /// it calls give_up() now and then, and returns false once that returns true. Throws failed,
  /// no_space, bad_alloc; invalid_argument if the whole log is too small; io_error if a segment
  /// could not be made.
  [[nodiscard]] bool try_reserve(SlotId slot, const LogNeed& need, FunctionRef<bool()> give_up);
  /// As try_reserve(), never giving up: only for callers that do not delay the threads that make
  /// space.
  void reserve(SlotId slot, const LogNeed& need);

  /// Whether reserve() would do nothing, because enough of an earlier reservation is left. By the
  /// slot's owner.
  [[nodiscard]] bool has_at_hand(SlotId slot, const LogNeed& need) const noexcept;
  /// Appends a record for which space is reserved; its GSN is above the slot's and `at_least`.
  /// encode(MutableBytes) writes the payload.
  template <class Encode>
  Appended append(SlotId slot, Gsn at_least, RecordType type, std::size_t payload_bytes,
                  Encode&& encode) noexcept {
    WorkerSlot& worker = slots_[slot];
    SlotState& state = *states_[raw(slot)].load(std::memory_order_relaxed);
    const Gsn gsn = worker.begin_append(at_least);
    const Lsn lsn = state.log.append(type, gsn, payload_bytes, encode);
    state.log.publish();
    PALIMPSEST_SYNC_POINT("wal.append.published");
    worker.end_append();
    state.credit_bytes -= static_cast<std::int64_t>(record_bytes(gsn, payload_bytes));
    return {gsn, lsn};
  }

  /// Records that the caller appends from now on become durable no earlier than what it has written
  /// past the log.
  void need_pages() noexcept { needs_pages_.exchange(true, std::memory_order_acq_rel); }

  /// Appends a record for which space is reserved, with a timestamp drawn from the clock as its
  /// GSN: above the slot's GSN and above `at_least`, the GSN of the transaction's other slots.
  /// Calls drawn(timestamp) before it writes the record; drawn() neither waits nor takes latches.
  Appended append_commit(SlotId slot, Gsn at_least, RecordType type, ConstBytes payload,
                         FunctionRef<void(Gsn timestamp)> drawn) noexcept;

  /// Returns credit beyond `owed_bytes`, except a little for the slot's next transaction. A
  /// transaction that has ended owes nothing.
  void release_credit(SlotId slot, std::size_t owed_bytes = 0) noexcept;
  /// Moves reserved space to another slot, which has reserved before. By the owner of both slots.
  void move_credit(SlotId from, SlotId to, std::size_t bytes) noexcept;

  /// Sets the thread to notify when a slot's log is half full; null: none. Called by that thread's
  /// owner; when it unsets the thread, no call of reserve() is running.
  void prompt(BackgroundCommitter* background) noexcept { background_.store(background); }

  /// The slot's log, for reading back; it exists after the first reservation.
  [[nodiscard]] const SlotLog& slot_log(SlotId slot) const noexcept {
    return states_[raw(slot)].load(std::memory_order_relaxed)->log;
  }
  /// Copies the record at `lsn` of the slot's own log, from memory or from the stream, into `into`.
  /// Throws io_error, corruption. By the owner. Reusing `into` and `cursor` saves allocations, and
  /// when the calls go backwards each chunk is read once.
  void read_back(SlotId slot, Lsn lsn, LogCursor& cursor, std::vector<std::byte>& into) const;

  // Durability

  [[nodiscard]] Gsn durable_gsn() const noexcept {
    return Gsn{durable_gsn_.load(std::memory_order_acquire)};
  }
  /// Returns once g >= gsn; runs rounds or waits for them. A GSN above the clock, as on a damaged
  /// page, raises the clock and is reached like any other. Throws failed.
  void wait_durable(Gsn gsn);
  /// Runs one round if anything waits to be written. For the background thread. Throws failed.
  void write_pending();
  /// Whether some log has records not yet written, or written ones that no stated GSN covers yet.
  [[nodiscard]] bool has_pending() const noexcept;

  [[nodiscard]] bool failed() const noexcept { return failure_.has_happened(); }
  /// Throws failed, with the reason, if the log has failed.
  void require_working() const;
  /// Puts the log into its failed state; the first reason stays.
  void fail(std::string_view reason) noexcept;

  // Bounds

  /// A start from which replay would read everything appended later. Waits for the round mutex.
  [[nodiscard]] LogStart current_start();
  /// Marks that the stream has passed since the last call, one a segment, none behind `end`;
  /// ascending. The clock is at least at the GSNs that they state. Waits for the round mutex.
  [[nodiscard]] std::vector<LogMark> take_marks(const LogStart& end);
  /// ReplayStart::move() to `start`, which comes from current_start() or a mark. Throws failed.
  bool move_start(const LogStart& start, const std::string& note, bool clean);
  /// For threads that copy the log.
  [[nodiscard]] ReplayStart& replay_start() noexcept { return replay_start_; }
  /// The end of the part of the stream that is written and can be read.
  [[nodiscard]] std::uint64_t end_position() const noexcept {
    return end_position_.load(std::memory_order_acquire);
  }
  /// Bytes of the stream from replay's start to its end.
  [[nodiscard]] std::uint64_t replay_bytes() const noexcept;
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept;
  /// Whether a thread waits for space, which moving replay's start would free.
  [[nodiscard]] bool is_waited_for() const noexcept { return space_.is_waited_for(); }
  [[nodiscard]] LogSpace& space() noexcept { return space_; }
  [[nodiscard]] LogStatistics statistics() const noexcept;

 private:
  struct SlotState {
    SlotState(std::size_t log_bytes, std::size_t record_bytes_max)
        : log(log_bytes, record_bytes_max) {}
    SlotLog log;
    std::int64_t credit_bytes = 0;  ///< accessed by the owner
  };
  /// What a round takes from one log.
  struct Pending;
  /// Holds the round mutex; its destructor wakes the followers.
  class Turn;

  Log(LogStore& store, const LogEnd& end, Incarnation incarnation, Clock& clock, WorkerSlots& slots,
      LogOptions options);

  static void check_options(const LogOptions& options, const Segments& segments);
  [[nodiscard]] SlotState& state_of(SlotId slot);
  void wait_for_ring(const SlotLog& log, std::size_t bytes);
  [[nodiscard]] bool take_credit(SlotState& state, const LogNeed& need) noexcept;
  void follow(std::uint32_t seen) noexcept;

  /// Runs a call that must not fail: an exception makes the log fail.
  template <class Call>
  auto run_or_fail(Call call);
  bool run_round();
  [[nodiscard]] Gsn compute_durable_gsn() noexcept;
  [[nodiscard]] std::size_t capture() noexcept;
  void write_batches(std::size_t bytes, Gsn gsn);
  [[nodiscard]] std::size_t fill_batch() noexcept;
  void take_written(std::size_t end) noexcept;
  void account(StreamPosition before, std::uint64_t record_bytes) noexcept;
  void mark_segment(Gsn newest) noexcept;

  Segments& segments_;
  Clock& clock_;
  WorkerSlots& slots_;
  const LogOptions options_;
  const Incarnation incarnation_;
  LogBudget budget_;
  LogSpace space_;
  const std::int64_t credit_step_bytes_;
  std::unique_ptr<std::atomic<SlotState*>[]> states_;  ///< by slot; created on first use
  std::mutex making_;                                  ///< of slot states
  std::vector<std::unique_ptr<SlotState>> owned_;      ///< protected by making_

  std::atomic<BackgroundCommitter*> background_{nullptr};
  std::atomic<bool> needs_pages_{false};
  // The round mutex: held while a round runs.
  std::mutex turn_;
  // Protected by turn_:
  StreamWriter stream_;
  std::vector<Pending> pending_;
  std::size_t first_pending_ = 0;  ///< the ones before it are written
  std::vector<LogMark> marks_;     ///< not taken yet; bounded by its capacity
  std::uint64_t marked_segment_;   ///< no further mark up to this segment

  ReplayStart replay_start_;
  std::atomic<std::uint64_t> end_position_{0};
  std::atomic<std::uint64_t> durable_gsn_{0};
  /// Highest GSN that a captured record may have: above durable_gsn_, another round is needed.
  std::atomic<std::uint64_t> needed_gsn_{0};
  std::atomic<std::uint32_t> rounds_ended_{0};  ///< followers sleep on it
  std::atomic<std::uint32_t> followers_{0};
  Failure failure_;

  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<std::uint64_t> batches_{0};
  std::atomic<std::uint64_t> record_bytes_{0};
  std::atomic<std::uint64_t> stream_bytes_{0};
};

}  // namespace palimpsest::wal
