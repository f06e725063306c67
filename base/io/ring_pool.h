// The rings of one device: lent to a thread for one batch, created when first needed.
//
// Rings belong to no thread, because the application creates the threads. Free rings are bits of
// words, one word per processor (modulo), so that busy processors take rings from different cache
// lines, without a lock. lend() takes the lowest idle ring of its processor's word, else an idle
// ring of another word, and only then creates one: a ring is a few pages of pinned memory, and
// which processor created it does not matter.
// Each ring has its own tables of registered files and memory. The pool keeps the wanted state of
// these tables and a count of its changes; a ring catches up when it is lent, or at once if it is
// idle.
//
// Invariants: (1) a ring is used only by the thread that cleared its bit;
//             (2) a closed file or ended region is gone from every idle ring when forget_file() or
//                 forget_region() returns, and from a lent one when it is given back;
//             (3) a word never has more rings than there were threads at one time that held a ring
//                 of it or searched it: an index gets its first ring only from a thread that saw
//                 all lower indexes taken.
// Latching: tables_mutex_ guards the wanted tables; taken only when they have changed.
// Failure: throws nothing. If no ring can be lent (for want of memory, say), the caller moves bytes
// by pread and pwrite.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/io/ring.h"
#include "base/log_sink.h"

namespace palimpsest::io {

class RingPool {
 public:
  /// Larger memory is not registered. Each ring pins the memory registered with it, at about 40 ms
  /// and 256 KiB of table per GiB; the gain is a tenth of a 4 KiB block's processor time in a
  /// batch, and nothing in its latency.
  static constexpr std::size_t kRegionBytesMax = std::size_t{16} << 20U;

  explicit RingPool(LogSink log) : log_(std::move(log)) {}

  /// A lent ring; the destructor gives it back.
  class Lease {
   public:
    Lease(RingPool& pool, std::size_t index) : pool_(&pool), index_(index) {}
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) {
        pool_->give_back(index_);
      }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }
    [[nodiscard]] Ring& operator*() const noexcept { return *pool_->rings_[index_]; }
    [[nodiscard]] Ring* operator->() const noexcept { return pool_->rings_[index_].get(); }

   private:
    friend class RingPool;
    Lease() = default;

    RingPool* pool_ = nullptr;
    std::size_t index_ = 0;
  };

  /// Lends a ring, or none: all are in use, or the kernel provides no more. Waits for no transfer.
  [[nodiscard]] Lease lend() noexcept;

  /// Assigns a slot in the rings' tables to an open file.
  [[nodiscard]] RingFile add_file(int descriptor) noexcept;
  /// Called before the descriptor is closed, with no transfer of the file in flight.
  void forget_file(const RingFile& file) noexcept;

  /// Registers memory with every ring; 0 if it is not registered.
  [[nodiscard]] std::uint64_t add_region(MutableBytes memory) noexcept;
  void forget_region(std::uint64_t id) noexcept;

  /// Number of rings that exist.
  [[nodiscard]] std::size_t rings_count() const noexcept;

 private:
  static constexpr std::size_t kWords = 16;
  static constexpr std::size_t kRingsPerWord = 64;

  struct alignas(64) FreeWord {
    std::atomic<std::uint64_t> bits{~std::uint64_t{0}};  ///< set: free, whether or not it exists
    std::atomic<std::uint64_t> existing{0};
  };

  template <class Candidates>
  [[nodiscard]] Lease lend_one_of(Candidates candidates, std::size_t first_word) noexcept;
  [[nodiscard]] bool take(std::size_t index) noexcept;
  void give_back(std::size_t index) noexcept;
  void log_no_ring(int error) noexcept;
  [[nodiscard]] bool prepare(std::size_t index) noexcept;
  void catch_up(Ring& ring) noexcept;
  void update_idle_rings() noexcept;

  LogSink log_;
  std::array<FreeWord, kWords> words_;
  std::array<std::unique_ptr<Ring>, kWords * kRingsPerWord> rings_;

  std::mutex tables_mutex_;
  Ring::FileIds files_{};      ///< guarded by tables_mutex_
  Ring::Regions regions_{};    ///< guarded by tables_mutex_
  std::uint64_t last_id_ = 0;  ///< guarded by tables_mutex_
  std::atomic<std::uint64_t> changes_{0};

  std::atomic<bool> logged_no_ring_{false};
  std::atomic<bool> logged_no_region_{false};
};

}  // namespace palimpsest::io
