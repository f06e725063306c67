// Threads of a concurrency test: started together, joined, and waited for with a time limit.
#pragma once

#include <cstddef>
#include <functional>

namespace palimpsest::test {

/// Runs `body(0)` ... `body(threads_count - 1)` in threads of their own, which begin together, and
/// returns when all have ended. If they have not after kStuckSeconds, some thread sleeps forever (a
/// lost wake-up, a deadlock): prints that and aborts, because such threads cannot be joined.
void run_threads(std::size_t threads_count, const std::function<void(std::size_t)>& body);

inline constexpr int kStuckSeconds = 120;

}  // namespace palimpsest::test
