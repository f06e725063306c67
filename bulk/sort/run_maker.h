// Makes sorted runs of records as they come: buffers are filled by the caller, and sorted and
// written by threads.
//
// Life of a buffer: free -> filled (add) -> full -> being sorted -> sorted -> being written -> free
// A full buffer is sorted at once. It is written when the caller finds no free one: what fits into
// the memory never is. From then on buffers are written as soon as they are sorted.
// Buffers are numbered as they were filled, and so are their runs: of equal keys, those of the
// first one came first.
//
// Latching: a mutex of its own, not held while buffers are sorted or written.
// No wake-up is lost: who finds nothing to do waits without a limit. So whatever changes what
// do_one() and is_finished() look at (states, writes_, error_, ends_) wakes all *after* it. A
// thread that looks between the two has the mutex, and is woken when it waits; state that is set
// behind the wake-up that was to tell it is seen by nobody.
// Thread-safety: one thread calls. Failure: what writing throws, by the next add() or finish(). The
//          threads that have been started end before it is told that another one cannot be.
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

namespace palimpsest::engine {

class RunMaker {
 public:
  /// All outlive it. `runs`: those that are in the file already, before all that come.
  RunMaker(const SortShape& shape, SortMemory& memory, SortFile& file,
           std::span<const Run> runs = {});
  RunMaker(const RunMaker&) = delete;
  RunMaker& operator=(const RunMaker&) = delete;
  ~RunMaker();

  /// A record of shape.record_bytes_max at most.
  void add(ByteView key, ByteView value);
  /// All that have come are in runs(), written; more may come.
  void write_all();
  /// All have come: they are in runs(), or in buffers() if they fit into these.
  void finish();

  /// After finish() or write_all(), in the order of their records. The runs are the caller's.
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; }
  [[nodiscard]] std::span<const SortBuffer* const> buffers() const noexcept { return sorted_; }

 private:
  enum class State : std::uint8_t { free = 1, filled, full, being_sorted, sorted, being_written };

  struct Slot {
    SortBuffer buffer;
    State state = State::free;
    std::uint64_t number = 0;  ///< of the buffer as it was filled, from 1 on
  };

  void hand_over();
  void fill_next();
  void finish_transfers();
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
  std::vector<MutableBytes> write_memory_;  ///< two blocks, by thread
  Slot* filled_ = nullptr;                  ///< the caller's
  std::vector<const SortBuffer*> sorted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_, but for the buffers, which are those of who fills, sorts or writes them:
  std::vector<Slot> slots_;
  std::uint64_t numbers_ = 0;  ///< buffers that were filled, those of other sorts' runs included
  bool writes_ = false;        ///< some did not find room in memory
  bool ends_ = false;
  std::exception_ptr error_;
  std::vector<Run> runs_;  ///< by number, from 1 on
  std::vector<std::thread> threads_;
};

}  // namespace palimpsest::engine
