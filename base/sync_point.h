// Named points in the code where a test can intervene: delay, block, count, or crash.
//
//   PALIMPSEST_SYNC_POINT("btree.split.linked");
//
// names a moment that another thread, or a crash, must be able to hit. Without the macro
// PALIMPSEST_SYNC_POINTS (release builds) the line is empty and the classes below are not declared;
// tests that need them are inside #ifdef.
//
// Why a process-wide registry, an exception to "no globals": the points lie in code of every
// folder, down to the latch, which has no room for a pointer to a context, and a test names a
// moment, not an object. The registry holds no state of the engine, is compiled only into debug and
// sanitizer builds, and is empty outside a test that installs a hook. Tests that install hooks
// under one name do not run at the same time in one process.
//
// *Noise* makes rare interleavings frequent: with PALIMPSEST_SYNC_NOISE=n in the environment, one
// thread in n that reaches a point is delayed there, for a moment or for as long as a whole
// operation of another thread takes. So tests that merely run threads against each other find races
// between two consecutive lines (tools/noise).
//
// Invariants: (1) a hook runs without any lock of the registry held; hooks may block and install
//                 more;
//             (2) when ~SyncHook returns, the hook is not running and will not run again.
// Latching: a point may lie under page latches; a hook that blocks there keeps them, which is its
// use.
// Thread-safety: everything here may be called from any thread.
#pragma once

#ifndef PALIMPSEST_SYNC_POINTS

#define PALIMPSEST_SYNC_POINT(name) static_cast<void>(0)

#else

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#define PALIMPSEST_SYNC_POINT(name) ::palimpsest::sync_point_reached(name)

namespace palimpsest {

/// Runs every hook installed under `name` in the calling thread, in the order of installation. With
/// no hook installed in the process it costs one load.
void sync_point_reached(std::string_view name) noexcept;

/// A hook at a named point, from construction to destruction.
class SyncHook {
 public:
  /// `action` runs in each thread that reaches `name`. It does not throw: points lie in noexcept
  /// code. It must not destroy its own hook.
  SyncHook(std::string_view name, std::function<void()> action);
  SyncHook(const SyncHook&) = delete;
  SyncHook& operator=(const SyncHook&) = delete;
  /// Waits until no thread runs the action.
  ~SyncHook();

  /// How often the point was reached; 0 at the end of a test shows a misspelt name.
  [[nodiscard]] std::uint64_t hits() const noexcept;

 private:
  struct Entry;
  friend void sync_point_reached(std::string_view name) noexcept;

  std::shared_ptr<Entry> entry_;
};

/// Stops the first thread that reaches a named point until released; later ones pass.
class SyncBarrier {
 public:
  explicit SyncBarrier(std::string_view name);
  SyncBarrier(const SyncBarrier&) = delete;
  SyncBarrier& operator=(const SyncBarrier&) = delete;
  /// Releases, then waits until the stopped thread has gone on.
  ~SyncBarrier();

  /// Waits until a thread has stopped at the point.
  void wait_until_reached();
  /// Lets that thread continue. May be called before any thread has reached the point.
  void release();

 private:
  void stop_first();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;   ///< guarded by mutex_
  bool released_ = false;  ///< guarded by mutex_
  SyncHook hook_;          ///< last: its action uses the members above
};

}  // namespace palimpsest

#endif
