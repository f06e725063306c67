// Marks the process that created an object: after fork(), the child's copy of the object is not
// usable.
//
// The copy looks whole but is not: the threads that belong to it are missing, latches that they
// held stay held for ever, and its files are the parent's. So callers check the mark before each
// use.
//
// Why a page, and not a pthread_atfork() handler alone: the kernel wipes the page in every child
// (MADV_WIPEONFORK), even in one created without handlers, by _Fork() or clone(). Where the kernel
// refuses such a page, a handler wipes the word. Why not getpid(): a check is two loads, and each
// call of the public API makes one.
// Invariants: (1) The word is 0 or the number of this process.
//             (2) A process and its ancestors have different numbers: the counter is ordinary
//                 memory, so a child continues counting from the value at the fork.
// Thread-safety: any thread. There is no lock that a child could find held.
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest {

class ProcessMark {
 public:
  ProcessMark() noexcept : number_(number_of_this_process()) {}

  /// False in a child of the process that constructed the mark.
  [[nodiscard]] bool is_of_this_process() const noexcept {
    return word_.load(std::memory_order_acquire)->load(std::memory_order_relaxed) == number_;
  }

 private:
  using Word = std::atomic<std::uint64_t>;

  [[nodiscard]] static std::uint64_t number_of_this_process() noexcept;
  static void find_word() noexcept;

  // Static: these describe the process itself, and per object they could not be told from the
  // copies in a child.
  inline static constinit Word kept_word_{0};  ///< if there is no page; wiped by a handler
  inline static constinit std::atomic<Word*> word_{&kept_word_};
  inline static constinit Word last_number_{0};

  std::uint64_t number_;
};

}  // namespace palimpsest
