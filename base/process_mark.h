// The mark of the process that made something: a child of fork() has a copy of it, which is not its
// own.
//
// The copy looks whole and is not: the threads that belong to it are missing, latches that they
// held are held for ever, and its files are the parent's. So it is asked before each use.
//
// Why a page, and no handler of pthread_atfork() alone: the kernel wipes the page in every child
// (MADV_WIPEONFORK), also in one that is made without handlers, by _Fork() or clone(). Where the
// kernel refuses such a page, a handler wipes the word. Why no getpid(): a look is two loads, and
// each call of the public API has one.
// Invariants: (1) The word is 0 or the number of this process.
//             (2) A process and its ancestors have different numbers: the counter is ordinary
//                 memory, so a child goes on counting where the fork found it.
// Thread-safety: any thread. There is no lock, which a child could find held.
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest {

class ProcessMark {
 public:
  ProcessMark() noexcept : number_(number_of_this_process()) {}

  /// False in a child of the process that made it.
  [[nodiscard]] bool is_of_this_process() const noexcept {
    return word_.load(std::memory_order_acquire)->load(std::memory_order_relaxed) == number_;
  }

 private:
  using Word = std::atomic<std::uint64_t>;

  [[nodiscard]] static std::uint64_t number_of_this_process() noexcept;
  static void find_word() noexcept;

  // What a process is, it is once: no owner could be told from that of its child.
  inline static constinit Word kept_word_{0};  ///< kept by the kernel, wiped by a handler
  inline static constinit std::atomic<Word*> word_{&kept_word_};
  inline static constinit Word last_number_{0};

  std::uint64_t number_;
};

}  // namespace palimpsest
