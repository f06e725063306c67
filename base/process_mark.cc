#include "base/process_mark.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

namespace palimpsest {
namespace {

std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// A page that the kernel zeroes in every child; null if the kernel refuses it.
void* wiped_page() noexcept {
  void* const page =
      ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return nullptr;
  }
  if (::madvise(page, page_bytes(), MADV_WIPEONFORK) != 0) {
    ::munmap(page, page_bytes());
    return nullptr;
  }
  return page;
}

}  // namespace

/// The word never moves once found: every thread calls this before it first reads the word.
void ProcessMark::find_word() noexcept {
  static constinit std::atomic<bool> found{false};
  if (found.load(std::memory_order_acquire)) {
    return;
  }
  if (void* const page = wiped_page()) {
    Word* const word = new (page) Word(0);
    Word* none = &kept_word_;
    if (!word_.compare_exchange_strong(none, word, std::memory_order_acq_rel)) {
      ::munmap(page, page_bytes());
    }
  } else {
    ::pthread_atfork(nullptr, nullptr, [] { kept_word_.store(0, std::memory_order_relaxed); });
  }
  found.store(true, std::memory_order_release);
}

std::uint64_t ProcessMark::number_of_this_process() noexcept {
  find_word();
  Word& word = *word_.load(std::memory_order_acquire);
  std::uint64_t number = word.load(std::memory_order_relaxed);
  if (number == 0) {
    const std::uint64_t next = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (word.compare_exchange_strong(number, next, std::memory_order_relaxed)) {
      number = next;
    }
  }
  return number;
}

}  // namespace palimpsest
