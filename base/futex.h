// Parking a thread on a 32-bit word, for the hybrid latch and other waits that must not spin.
//
// Why not std::atomic::wait: it spins and yields for as long as it chooses, and keeps its waiter
// counts in a process-wide table that unrelated objects share. Here the caller decides both.
// Latching: none; futex_wait blocks and must not be called with a page latch held.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace palimpsest {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps until a wake if `word` still holds `expected`. May return spuriously (a signal, a changed
/// value): the caller checks its condition again. Only threads of this process can wake it.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

/// As futex_wait, for at most `patience`.
inline void futex_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds patience) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  timespec timeout{};
  timeout.tv_sec = seconds.count();
  timeout.tv_nsec = (patience - seconds).count();
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

/// Wakes every thread that sleeps on `word`.
inline void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Wakes one thread that sleeps on `word`.
inline void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// Tells the processor that this is a spin loop.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace palimpsest
