// Makes sorted runs of records as they come: the caller fills buffers, threads sort and write them.
//
// Life of a buffer: free -> filled (add) -> full -> being sorted -> sorted -> being written -> free
// A full buffer is sorted at once. Buffers are written only once the caller finds no free one:
// records that fit into memory are never written. From then on buffers are written as soon as they
// are sorted. A caller that finds no free one sorts full ones until one is free.
// Buffers are numbered as they were filled, and so are their runs: among equal keys, those of the
// lowest number came first.
//
// Latching: a mutex of its own, not held while buffers are sorted or written.
// No wake-up is lost: a thread that finds nothing to do waits without a limit. So a change of
// anything that do_one() and is_finished() read (states, writes_, error_, ends_) is followed by a
// wake-up of all threads. A thread that looks between the two has the mutex, and is woken when it
// waits. A change made *behind* its wake-up would go unnoticed.
// Thread-safety: one thread calls. Failure: the next add() or finish() throws what writing throws.
// If a thread cannot be started, those that were started end before the error is thrown.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "bulk/sort/run_blocks.h"
#include "bulk/sort/sort_buffer.h"
#include "bulk/sort/sort_file.h"
#include "bulk/sort/sort_memory.h"
#include "bulk/sort/sort_shape.h"

namespace palimpsest::bulk {

class RunMaker {
 public:
  /// All arguments outlive this. `runs`: those that are in the file already; they precede all new
  /// ones.
  RunMaker(const SortShape& shape, SortMemory& memory, SortFile& file,
           std::span<const Run> runs = {});
  RunMaker(const RunMaker&) = delete;
  RunMaker& operator=(const RunMaker&) = delete;
  ~RunMaker();

  /// The record has at most shape.record_bytes_max bytes.
  void add(ByteView key, ByteView value);
  /// Writes all records so far as runs; more may be added.
  void write_all();
  /// Ends the input: all records are in runs(), or in buffers() if they fit into memory.
  void finish();

  /// After finish() or write_all(), in the order of their records. The caller owns the runs.
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }
  [[nodiscard]] std::span<const SortBuffer* const> buffers() const noexcept { return sorted_; }

 private:
  enum class State : std::uint8_t { free = 1, filled, full, being_sorted, sorted, being_written };

  struct Slot {
    SortBuffer buffer;
    State state = State::free;
    std::uint64_t number = 0;  ///< in the order of filling, from 1 on
  };

  void hand_over();
  void fill_next();
  void finish_transfers();
  void work_or_wait(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Slot* oldest(State state) noexcept;
  void start_threads();
  void stop_threads() noexcept;
  void work(MutableBytes blocks) noexcept;
  [[nodiscard]] bool do_one(std::unique_lock<std::mutex>& lock, MutableBytes blocks);
  void write(const Slot& slot, MutableBytes blocks, std::uint64_t offset);
  [[nodiscard]] bool is_finished() const noexcept;

  const SortShape shape_;
  const RunBlocks blocks_;
  SortFile& file_;
  std::vector<MutableBytes> write_memory_;  ///< two blocks per thread
  Slot* filled_ = nullptr;                  ///< used by the caller
  std::vector<const SortBuffer*> sorted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_, except the buffers, which belong to the thread that fills, sorts or writes
  // them:
  std::vector<Slot> slots_;
  std::uint64_t numbers_ = 0;  ///< buffers that were filled, including those of the runs to begin
                               ///< with
  bool writes_ = false;        ///< memory did not suffice
  bool ends_ = false;
  std::exception_ptr error_;
  std::vector<Run> runs_;  ///< by number, from 1 on
  std::vector<std::thread> threads_;
};

}  // namespace palimpsest::bulk
